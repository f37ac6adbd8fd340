"""Telemetry for Prometheus: OpenMetrics over HTTP, and a Grafana dashboard of it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["dashboard_text"]


def dashboard_text() -> str:
    """The dashboard as Grafana imports it (JSON)."""
    return (Path(__file__).parent / "dashboard.json").read_text(encoding="utf-8")
