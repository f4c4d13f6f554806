"""A week of the whole bot in seconds: nothing lost, doubled, disordered or early, and all again from its seed."""

from pathlib import Path

import pytest

from tests.chaos.simulation.__main__ import scale_of, simulate
from tests.chaos.simulation.clock import run_virtually
from tests.chaos.simulation.scene import Scale
from tests.chaos.simulation.world import Report, World

WEEK = Scale(idle=10, prune_each=36)
SMALL = Scale(days=2, feeds=8, destinations=6, idle=10)
PEACE = Scale(
    days=30,
    feeds=5,
    destinations=1,
    harm=0,
    kills_per_day=0.5,
    stops_per_day=2,
    jumps_per_day=0,
    full_disks_per_day=0,
    idle=15,
    prune_each=144,
)


def _promised(report: Report) -> None:
    assert report.complaints == (), str(report)
    assert (report.lost, report.out_of_order) == (0, 0)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_week_with_fifty_feeds_and_twenty_destinations_keeps_every_promise(seed: int) -> None:
    report = simulate(WEEK, seed=seed)
    _promised(report)
    # A week in which nothing happened would prove nothing.
    assert report.polls > 5_000
    assert report.deliveries > 500
    assert report.kills > 10
    assert report.site_faults > 50
    assert report.service_faults > 50


def test_a_seed_repeats_everything() -> None:
    one, two, other = simulate(SMALL, seed=5), simulate(SMALL, seed=5), simulate(SMALL, seed=6)
    _promised(one)
    assert (one.trail, one.sends, one.polls) == (two.trail, two.sends, two.polls)
    assert one.trail != other.trail


def test_a_strict_site_owner_has_nothing_against_a_month_of_polls_with_restarts(folder: Path) -> None:
    """Each site judges every request: no invented validator, none left out, none earlier than allowed."""
    worlds: list[World] = []

    async def month(world: World) -> Report:
        worlds.append(world)
        return await world.run()

    report = run_virtually(lambda loop: month(World(loop, PEACE, seed=3, folder=folder)))
    _promised(report)
    assert report.stops > 20
    readers = worlds[0].web.readers
    for name, site in worlds[0].web.by_name.items():
        assert readers[name].requests > 200
        if site.habits.etag or site.habits.last_modified:
            assert readers[name].unconditional == 1, name


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 120))
def test_weeks_of_other_seeds_keep_every_promise(seed: int) -> None:
    _promised(simulate(Scale(harm=2, kills_per_day=20, jumps_per_day=1), seed=seed))


@pytest.mark.long
def test_a_year_with_two_hundred_feeds_and_fifty_destinations_keeps_every_promise_and_its_size() -> None:
    report = simulate(scale_of(365, 200, 50), seed=2026)
    _promised(report)
    assert report.polls > 1_000_000
    assert report.growth_mb < 1.0
