"""Says how Gorila grows beyond what one machine can run: a model, fitted and checked.

    python benchmarks/predict_scaling.py                     what docs/scaling.md has
    python benchmarks/predict_scaling.py --bundles 50 100 --shards 8 31 --gbit 10

Takes what `bench_scaling.py` measured, by default docs/scaling.json, fits the model of
`event_model` to the programs of 1, 2 and 4 bundles and predicts larger ones, in which
each bundle and each shard has a machine with one core. With `--write`, tables and plot
go into docs/scaling.md, and the measurements beside it.
"""

import argparse
import itertools
import json
import pathlib
import shutil

import scaling_fit
import scaling_prediction
import scaling_report

DOCS = pathlib.Path(__file__).parents[1] / "docs"
MEASURED = DOCS / "scaling.json"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"

GAME = "atari:pong"
GORILA_BUNDLES, GORILA_SHARDS = 100, 31
NUM_BUNDLES = (1, 10, 25, 50, 75, 100, 150, 200)
NUM_SHARDS = (1, 2, 4, 8, 16, 31, 62)
GBIT_PER_SEC = (1.0, 10.0)


def main() -> None:
    """Prints tables, or writes them into the page."""
    options = _parse_options()
    results = json.loads(options.json.read_text())
    found = scaling_fit.fit(results, GAME)

    def predict(
        num_bundles: list[int], num_shards: list[int]
    ) -> list[scaling_prediction.Prediction]:
        sizes = itertools.product(options.gbit, num_bundles, num_shards)
        return [
            scaling_prediction.predict(found, bundles, shards, rate)
            for rate, bundles, shards in sizes
        ]

    if options.bundles or options.shards:
        asked = predict(
            options.bundles or [GORILA_BUNDLES], options.shards or [GORILA_SHARDS]
        )
        print("\n".join(scaling_report.describe_predictions(asked)))
        return
    grown = predict(list(NUM_BUNDLES), [GORILA_SHARDS])
    cut = predict([GORILA_BUNDLES], list(NUM_SHARDS))
    gorila = [each for each in grown if each.num_bundles == GORILA_BUNDLES]
    picture = "![Measured, simulated and predicted updates per second](scaling.png)"
    text = "\n".join(
        [
            *scaling_report.summarise(results, gorila),
            *("", picture, "", "### Measured", ""),
            *scaling_report.describe_measured(results),
            *("", "### The model, fitted to 1, 2 and 4 bundles"),
            *scaling_report.describe_fit(results),
            *("", f"### Predicted for {GORILA_SHARDS} shards"),
            *scaling_report.describe_predictions(grown),
            *("", f"### Predicted for {GORILA_BUNDLES} bundles"),
            *scaling_report.describe_predictions(cut),
        ]
    )
    if not options.write:
        print(text)
        return
    scaling_report.plot(results, grown, DOCS / "scaling.png")
    if options.json.resolve() != MEASURED:
        shutil.copyfile(options.json, MEASURED)
    page = DOCS / "scaling.md"
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
    print(f"Wrote {page}, its plot and {MEASURED}.")


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("json", nargs="?", type=pathlib.Path, default=MEASURED)
    parser.add_argument("--bundles", nargs="+", type=int, help="machines with a bundle")
    parser.add_argument("--shards", nargs="+", type=int, help="machines with a shard")
    parser.add_argument(
        "--gbit", nargs="+", type=float, default=GBIT_PER_SEC, help="of each machine"
    )
    parser.add_argument("--write", action="store_true", help="into docs/scaling.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
