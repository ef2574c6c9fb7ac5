"""jaxsel sweep: measures over a grid of settings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from jaxsel.cli.arguments import (
    JsonOption,
    bad_input_exits,
    complete_mechanisms,
    interrupts_say,
    read_settings,
    read_trials,
    whole_option,
)
from jaxsel.cli.options import as_command
from jaxsel.cli.output import print_json, print_table, say, write
from jaxsel.cli.scaling import SchedulerOption, ShardOption, workers
from jaxsel.host.errors import InputError
from jaxsel.host.outputs import PICTURES, check_output
from jaxsel.kernel.compiled import compilation_cache
from jaxsel.language.domains import nearest

if TYPE_CHECKING:
    import xarray as xr

    from jaxsel.shards import Shard
    from jaxsel.sweeps.request import SweepRequest

_ROWS = 40

HELP = """Explore: measure a mechanism, or what tuning costs, over a grid of settings.

jaxsel sweep private_tuning repetitions=geometric,poisson mean=2:1000:log7
--measure success,epsilon_bound --trials 1e6 --record sweep.nc --plot sweep.png

jaxsel sweep account base=gaussian noise_multiplier=1,2,4 mean=2:1000:log9

jaxsel sweep votes.py:vote epsilon=0.25,0.5,1: a function of your own; see docs/sweeps.md.

Several values of a setting make an axis: 0.5,1,2 or 0:1:5 (five numbers from 0 to 1) or
1:1000:log13 (thirteen, at equal ratios) or 1:5 (whole numbers); lists such as scores are
separated by ;. Parameters of a law of K and of an account's base are settings, too, and so
is seed. --zip a,b varies two together. --measure ? lists what can be measured.

With --record the sweep may be killed and goes on where it stopped; a larger grid or more
trials extend it. The file is NetCDF with named coordinates: xarray.open_dataset reads it.
In place of all this, the name of a TOML file with the keys sweep, settings, measures, zip,
trials, seed, delta, confidence, record, table, plot, axes."""

_Text = str | None
TableOption = Annotated[
    list[str] | None,
    typer.Option("--table", metavar="FILE", help="Also as .csv or .parquet, a row a cell."),
]


def _option(name: str, help: str) -> typer.models.OptionInfo:
    return typer.Option(name, help=help)


class _Measured(NamedTuple):
    """What is measured of each cell."""

    measure: Annotated[_Text, _option("--measure", "Names, separated by commas; ? lists them.")] = (
        None
    )
    trials: Annotated[_Text, _option("--trials", "A cell, e.g. 1e6 (default).")] = None
    delta: Annotated[float | None, _option("--delta", "Of epsilons; default 0.")] = None
    confidence: Annotated[
        _Text, _option("--confidence", "Of each interval and audit (0.95), or joint=0.95: of all.")
    ] = None
    seed: Annotated[int | None, whole_option("--seed", "Same seed, same result, bit for bit.")] = (
        None
    )


class _Written(NamedTuple):
    """What is made of the result."""

    record: Annotated[_Text, _option("--record", "NetCDF file to save to, and to go on from.")] = (
        None
    )
    table: TableOption = None
    plot: Annotated[_Text, _option("--plot", "Picture: .png, .pdf or .svg.")] = None
    axes: Annotated[
        _Text,
        _option(
            "--axes",
            "Of the picture: x=mean,hue=repetitions tells laws apart by colour; "
            "facet=... by panel.",
        ),
    ] = None
    sketch: Annotated[
        bool, typer.Option("--sketch", help="A picture in letters, for terminals.")
    ] = False


class _Shared(NamedTuple):
    """How the work is shared out."""

    shard: ShardOption = None
    scheduler: SchedulerOption = None


_FORMER = {
    "--csv": "--table",
    "--parquet": "--table",
    "--x": "--axes.x",
    "--hue": "--axes.hue",
    "--facet": "--axes.facet",
}


@as_command(_FORMER)
def sweep_command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM|account|FILE.py:FUNCTION|FILE.toml",
            help="What to sweep.",
            autocompletion=complete_mechanisms,
        ),
    ],
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME=VALUES]...", help="Settings and axes.")
    ] = None,
    measured: _Measured = _Measured(),
    written: _Written = _Written(),
    shared: _Shared = _Shared(),
    zips: Annotated[
        list[str] | None, typer.Option("--zip", help="Axes that go together: --zip epsilon,gamma.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Explore: measure a mechanism, or what tuning costs, over a grid of settings."""
    with bad_input_exits():
        asked = _asked(subject, read_settings(settings))
        given = {
            "measures": None if measured.measure is None else measured.measure.split(","),
            "zip": None if not zips else [group.split(",") for group in zips],
            "trials": None if measured.trials is None else read_trials(measured.trials),
            "delta": measured.delta,
            "confidence": measured.confidence,
            "seed": measured.seed,
            "record": written.record,
            "table": written.table,
            "plot": written.plot,
            "axes": written.axes,
        }
        asked = asked._replace(**{k: value for k, value in given.items() if value is not None})
        which = _shard(shared.shard, shared.scheduler, asked.record)
        if which is not None and asked.record is not None:
            asked = asked._replace(record=asked.record.replace("{shard}", str(which.index)))
        if list(asked.measures) == ["?"]:
            _list_measures(asked, json)
            return
        check_files(asked)
        _check_axes(asked)
        compilation_cache()
        if which is not None:
            _keep_share(asked, which, json)
            return
        from jaxsel.sweeps.running import swept

        with interrupts_say(asked.record), workers(shared.scheduler):
            found = swept(asked.plan(), asked.record)
        show(found, asked, json, written.sketch)


def _asked(subject: str, settings: dict[str, str]) -> "SweepRequest":
    from jaxsel.sweeps.request import SweepRequest, read_toml

    if not subject.endswith(".toml"):
        return SweepRequest(subject, settings)
    found = read_toml(subject)
    return found._replace(settings={**found.settings, **settings})


def _list_measures(asked: "SweepRequest", json: bool) -> None:
    from jaxsel.sweeps.cells import make_cell
    from jaxsel.sweeps.measures import known_measures
    from jaxsel.sweeps.swept_subject import find_subject

    subject = find_subject(asked.sweep)
    grid = subject.grid(asked.settings, asked.zip)
    known = known_measures(subject, make_cell(subject, next(grid.points()), 0))
    rows = [(m.name, m.kind, m.units, m.meaning) for m in known.values()]
    columns = ("measure", "kind", "units", "meaning")
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table(f"Measures of {subject.name}", columns, rows)


def check_files(asked: "SweepRequest") -> None:
    """Refuses names of files that cannot be written, before hours of work and not after."""
    check_output("--record", asked.record, (".nc",))
    for table in asked.table:
        check_output("--table", table, (".csv", ".parquet"))
    check_output("--plot", asked.plot, PICTURES)
    if any(_is_parquet(table) for table in asked.table):
        from jaxsel.sweeps.tables import check_parquet

        check_parquet()


def _is_parquet(table: str) -> bool:
    return table.endswith(".parquet")


def _shard(shard: str | None, scheduler: str | None, record: str | None) -> "Shard | None":
    """The shard that is to be run; None for the whole sweep."""
    if shard is None:
        return None
    from jaxsel.shards import read_shard

    if scheduler is not None:
        raise InputError("--shard and --scheduler exclude each other; give one")
    if record is None:
        raise InputError("--shard needs a file for its tallies; give --record FILE")
    return read_shard(shard)


def _keep_share(asked: "SweepRequest", which: "Shard", json: bool) -> None:
    from jaxsel.sweeps.running import shared

    path = asked.record
    assert path is not None  # ``_shard`` has refused it
    with interrupts_say(path):
        trials = shared(which, asked.plan(), path)
    if json:
        print_json({"shard": str(which), "record": path, "trials": trials})
    else:
        say(f"{trials} trials; shard {which} is kept in {path}; jaxsel merge prints the results.")


def _check_axes(asked: "SweepRequest") -> None:
    """Refuses a picture by axes that the sweep does not have, before the work."""
    from jaxsel.sweeps.swept_subject import find_subject

    grid = find_subject(asked.sweep).grid(asked.settings, asked.zip)
    known = [name for axis in grid.axes for name in axis.names] + ["theorem", "outcome"]
    for name in asked.picture_axes().values():
        if name not in known:
            raise InputError(
                f"the sweep has no axis {name!r}{nearest(name, known)}; it has: {', '.join(known)}"
            )


def _write_tables(found: "xr.Dataset", asked: "SweepRequest") -> None:
    from jaxsel.sweeps import tables

    for table in asked.table:
        (tables.write_parquet if _is_parquet(table) else tables.write_csv)(found, table)


def show(found: "xr.Dataset", asked: "SweepRequest", json: bool, sketched: bool = False) -> None:
    """Writes the files that are asked for, and prints the sweep."""
    _write_tables(found, asked)
    _print(found, json)
    # Last, so that the numbers are not lost if the picture is refused.
    _draw(found, asked, sketched and not json)
    if not json:
        _say_what_was_written(asked)


def _print(found: "xr.Dataset", json: bool) -> None:
    from jaxsel.sweeps import tables
    from jaxsel.sweeps.dataset import TOGETHER

    if json:
        print_json({"sweep": dict(found.attrs), "cells": tables.rows(found)})
        return
    rows = tables.short_rows(found)
    columns = list(rows[0])
    shown = rows[:_ROWS]
    print_table(str(found.attrs["title"]), columns, [[row[c] for c in columns] for row in shown])
    if len(rows) > len(shown):
        say(f"{len(rows) - len(shown)} more rows; --record, --table or --json has them all.")
    if "intervals" in found.attrs:
        more = "" if found.attrs["intervals"] == TOGETHER else "; --confidence joint=0.95 is of all"
        say(
            f"Intervals and audits hold {found.attrs['intervals']}, "
            f"{found.attrs['confidence']:g}{more}."
        )


def _draw(found: "xr.Dataset", asked: "SweepRequest", sketched: bool) -> None:
    if sketched:
        from jaxsel.pictures.sketch import sketch

        axes = asked.picture_axes()
        drawing = sketch(found, x=axes.get("x"), hue=axes.get("hue"), facet=axes.get("facet"))
        write(f"{drawing}\n")
    if asked.plot is not None:
        from jaxsel.pictures import style
        from jaxsel.pictures.sweep import picture

        drawn = picture(found, **asked.picture_axes())
        path = Path(asked.plot)
        style.save(drawn, path.with_suffix(""), (path.suffix[1:],))


def _say_what_was_written(asked: "SweepRequest") -> None:
    for path in (asked.record, *asked.table, asked.plot):
        if path is not None:
            say(f"written: {path}")
