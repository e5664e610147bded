"""The names under which work is stored. They outlive any version of the code, so they never change."""

APP_VERSION = "forge"  # one for ever: a run that waits under one version is not resumed under another
DELIVERIES = "deliveries"  # the queue for short work
RUNS = "runs"  # the queue for phases, partitioned by pull request
DELIVERY = "delivery"  # the workflow of one delivery
LAST_WORD = "last_word"  # the workflow that closes the check of a run that ended and could not
ACTING = "acting"  # the workflow of one look at what may be done unasked with a reviewed head
RUN = "review_run"  # the workflow of one review
TESTS = "tests"  # the queue for tests that were asked for, partitioned by pull request
HEARINGS = "hearings"  # the queue for replies that are to be read, partitioned by pull request
HEAR = "hear"  # the workflow of reading one
LEARNING = "learning"  # the queue for what is learned, partitioned by repository
REFLECT = "reflect"  # the workflow of one reflection on a run
CONSOLIDATE = "consolidate"  # the workflow of one night's order among the memories of a repository
TEST = "test"  # the workflow of one testing of a head that was asked for
