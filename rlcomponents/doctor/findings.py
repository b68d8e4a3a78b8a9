"""What the doctor says of one thing."""

from typing import NamedTuple

OK = "ok"
"""All is well."""

NOTE = "note"
"""Worth knowing; nothing has to be done."""

FIX = "fix"
"""Something has to be done, or programs fail."""


class Finding(NamedTuple):
    """One line.

    Attributes:
        level: `OK`; `NOTE`: it works, but this should be known; `FIX`: it does not.
        subject: What was looked at, in a word or two.
        text: What was found, and for a note or a fix what to do.
    """

    level: str
    subject: str
    text: str

    def __str__(self) -> str:
        return f"{self.level:5} {self.subject}: {self.text}"
