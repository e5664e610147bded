"""`forge review --pr`: reviews one pull request with a token, prints the review, and posts it if asked."""

import sys
from dataclasses import dataclass

from agents.llm.models import Models
from agents.toolbox import Toolbox
from bot.cli.local_review import Format
from bot.cli.pull_request.access import PullRequestAddress, find_pull_request, open_host, parse_address
from bot.cli.pull_request.examination import Examined, open_examination, review_pull_request
from bot.cli.review_output import print_result
from bot.settings import load_environment
from bot.tool_folders import load_tool_folders
from domain.errors import ForgeError
from domain.github.pull_requests import ReviewEvent
from domain.review.review import Decision, Review
from github.host import PersonalHost
from messages.single_review import NO_CHECK
from pipeline.publishing.reviews import SinglePosted, post_single_review
from pipeline.review.single_reading import SingleReading
from safety.containment import find_origin
from safety.eligibility import needs_ok

_EVENTS = {Decision.approve: ReviewEvent.approve, Decision.request_changes: ReviewEvent.request_changes}
"""What a review is to GitHub where its verdict counts; any other only comments."""


@dataclass(frozen=True)
class PostingOptions:
    """What to do with the review.

    :param by_verdict: approve or request changes, by the decision; otherwise the review only comments.
    """

    post: bool = False
    by_verdict: bool = False

    def choose_event(self, decision: Decision) -> ReviewEvent:
        return _EVENTS.get(decision, ReviewEvent.comment) if self.by_verdict else ReviewEvent.comment


async def run(
    url: str, shown: Format, options: PostingOptions, *, ask_model: bool = False, quiet: bool = False
) -> Review:
    """Review a pull request, print the result, post it if asked, and return it.

    :param url: its address.
    :param ask_model: send its code to the model of FORGE_FAST_MODEL, too.
    :param quiet: leave out the notes.
    :raises ForgeError: if it cannot be read, printed or posted.
    """
    address = parse_address(url)
    async with open_host(address) as host:
        repository, pull = await find_pull_request(host, address)
        async with (
            Toolbox.start(reads=load_tool_folders()) as toolbox,
            open_examination(host, repository, pull) as examined,
        ):
            reading = build_reading(examined, toolbox, ask_model=ask_model, asked=True)
            review = await review_pull_request(host, examined, toolbox, reading)
        print_result(review, examined.loaded.problem, shown, is_local=False, quiet=quiet)
        if options.post:
            posted = await post(host, examined, review, options)
            sys.stderr.write(f"forge: {describe_posted(posted, address, options)} {NO_CHECK}\n")
    return review


def build_reading(examined: Examined, toolbox: Toolbox, *, ask_model: bool, asked: bool) -> SingleReading:
    """Layer 3 of a review; the model is named by the environment, as for the App.

    :param asked: a person asked for this review.
    """
    models: Models | None = load_environment().models if ask_model else None
    pull, owner = examined.pull_request, examined.repository.id
    configuration = examined.loaded.configuration
    lacks_ok = not asked and needs_ok(pull, configuration.review, owner) is not None
    origin, default = find_origin(pull.is_from_fork(owner)), examined.default_head
    return SingleReading(models, pull.title, origin, configuration, toolbox, default, lacks_ok=lacks_ok)


async def post(host: PersonalHost, examined: Examined, review: Review, options: PostingOptions) -> SinglePosted:
    """Post a review on the head it is about.

    :raises ForgeError: if the head moved meanwhile.
    :raises CodeHostError: if GitHub does not take it.
    """
    repository, number = examined.repository, examined.pull_request.number
    now = await host.pull_request(repository, number)
    if now.head_sha != review.head_sha or not now.is_open:
        what = f"its head is {now.head_sha[:7]} now" if now.is_open else "it was closed"
        raise ForgeError(
            f"{repository.full_name}#{number} changed while it was reviewed: {what}, so nothing was posted.",
            "Run the review again.",
        )
    most = examined.loaded.configuration.review.max_comments
    event = options.choose_event(review.decision)
    return await post_single_review(host, repository, number, review, most, event)


def describe_posted(posted: SinglePosted, address: PullRequestAddress, options: PostingOptions) -> str:
    """What was posted and where, in sentences."""
    where = f"{address.url}#pullrequestreview-{posted.review_id}"
    if not posted.is_new:
        kept = " GitHub keeps what it was posted as." if options.by_verdict else ""
        return f"This head has a review of yours already, and its text is up to date: {where}.{kept}"
    comments = "1 comment" if posted.comments == 1 else f"{posted.comments} comments"
    return f"Posted the review with {comments} on lines: {where}. {posted.note}".strip()
