"""The project's own rules, checked by ``make lint`` (``python -m tests.lint``)."""
