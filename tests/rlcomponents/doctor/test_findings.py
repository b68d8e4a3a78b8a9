from rlcomponents.doctor import findings


def test_a_finding_is_one_line():
    finding = findings.Finding(findings.OK, "cores", "2")
    assert str(finding) == "ok    cores: 2"
