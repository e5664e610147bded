"""What a deployment's state says of it, and which ones a newer one replaces."""

import pytest

from domain.deployments.deployment import DeploymentState, list_replaced
from tests.unit.deployments.orders import deployment

UNTOUCHED = {DeploymentState.queued, DeploymentState.asking, DeploymentState.preparing}
THERE = {DeploymentState.healthy, DeploymentState.unverified, DeploymentState.degraded}
OVER = THERE | {DeploymentState.rolled_back, DeploymentState.stopped, DeploymentState.failed}


@pytest.mark.parametrize("state", DeploymentState)
def test_a_state_says_whether_it_is_over_there_or_untouched(state: DeploymentState) -> None:
    assert (state.is_over, state.is_there, state.is_untouched) == (state in OVER, state in THERE, state in UNTOUCHED)


@pytest.mark.parametrize("state", DeploymentState)
def test_only_what_waits_is_replaced(state: DeploymentState) -> None:
    replaced = list_replaced(deployment(2), [deployment(1, state), deployment(2)])
    assert bool(replaced) is (state in {DeploymentState.queued, DeploymentState.asking})


def test_an_older_one_never_replaces_a_newer_one() -> None:
    """A step that admits one may be repeated after others were admitted."""
    waiting = [deployment(number) for number in (1, 2, 3)]
    assert list_replaced(waiting[1], waiting) == [waiting[0]]
    assert list_replaced(waiting[0], waiting) == []


def test_people_see_the_end_of_its_id() -> None:
    assert deployment(4).short_id == "D-000004"


def test_what_holds_before_its_first_step_changed_nothing() -> None:
    assert deployment(state=DeploymentState.holding).is_untouched
    assert not deployment(state=DeploymentState.holding, percentage=25).is_untouched
    assert not deployment(state=DeploymentState.rolling_out).is_untouched
