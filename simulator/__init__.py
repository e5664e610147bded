"""A local GitHub: one state model served over HTTP with webhooks and git."""

from simulator.errors import Dropped, Fault, Refusal, RequestInfo
from simulator.gitstore import Blob, Commit
from simulator.server import Simulator
from simulator.user import User
from simulator.webhooks import Delivery

__all__ = ["Blob", "Commit", "Delivery", "Dropped", "Fault", "Refusal", "RequestInfo", "Simulator", "User"]
