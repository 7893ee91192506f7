"""What does the server count? Requests, their times, documents scored, what waits, and the state of each index."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from hi2.server.collection import Collections
from hi2.server.search_queue import SearchQueue

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30)
_BATCHES = (1, 2, 4, 8, 16, 32)


class Metrics:
    """The numbers of one server, in the format of Prometheus."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "hi2_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, registry=self._registry
        )
        self._answers = Counter("hi2_requests", "Requests by status", ["route", "status"], registry=self._registry)
        self._errors = Counter("hi2_errors", "Answers with a status of 500 or more", registry=self._registry)
        self._scored = Counter("hi2_documents_scored", "Documents scored by searches", registry=self._registry)
        self._queries = Counter("hi2_queries", "Queries answered", registry=self._registry)
        self._batches = Histogram(
            "hi2_batch_queries", "Queries answered together", buckets=_BATCHES, registry=self._registry
        )
        self._routes: dict[str, Histogram] = {}
        self._statuses: dict[tuple[str, int], Counter] = {}

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        if route not in self._routes:
            self._routes[route] = self._seconds.labels(route)
        if (route, status) not in self._statuses:
            self._statuses[route, status] = self._answers.labels(route, str(status))
        self._routes[route].observe(seconds)
        self._statuses[route, status].inc()
        if status >= 500:
            self._errors.inc()

    def searched(self, n_queries: int, n_scored: int) -> None:
        """Count a batch of queries."""
        self._queries.inc(n_queries)
        self._batches.observe(n_queries)
        self._scored.inc(n_scored)

    def watch(self, collections: Collections, searches: SearchQueue) -> None:
        """Report what waits and what the indexes hold, as it is when somebody asks."""
        self._registry.register(_Now(collections, searches))

    def render(self) -> bytes:
        """Return all numbers as text."""
        return generate_latest(self._registry)


class _Now(Collector):
    """Numbers that are read when they are asked for."""

    def __init__(self, collections: Collections, searches: SearchQueue) -> None:
        self._collections, self._searches = collections, searches

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Yield the numbers."""
        yield GaugeMetricFamily("hi2_queries_waiting", "Queries that wait", value=self._searches.n_waiting)
        yield GaugeMetricFamily("hi2_queries_running", "Queries being answered", value=self._searches.n_running)
        documents = GaugeMetricFamily("hi2_documents", "Documents", labels=["collection"])
        segments = GaugeMetricFamily("hi2_segments", "Segments", labels=["collection"])
        changes = GaugeMetricFamily("hi2_changes_waiting", "Changes that wait", labels=["collection"])
        for collection in self._collections:
            documents.add_metric([collection.name], len(collection.index))
            segments.add_metric([collection.name], collection.n_segments())
            changes.add_metric([collection.name], collection.changes.n_waiting)
        yield from (documents, segments, changes)
