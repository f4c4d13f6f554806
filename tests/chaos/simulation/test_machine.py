"""Claims, intents, answers, looks, deaths, lost leases and set clocks in any order that chance can think of (F21)."""

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.chaos.simulation.machine import OutboxMachine

# Not made smaller when it fails: that takes minutes, and a run is short enough to be read.
ANY = settings(deadline=None, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])


def test_whatever_follows_whatever_each_message_comes_once_and_in_order() -> None:
    always_the_same = settings(ANY, max_examples=60, stateful_step_count=25, derandomize=True)
    run_state_machine_as_test(OutboxMachine, settings=always_the_same)


@pytest.mark.long
def test_the_same_for_very_many_orders_of_things() -> None:
    run_state_machine_as_test(OutboxMachine, settings=settings(ANY, max_examples=2_000, stateful_step_count=40))
