"""Tools for those who develop pgbpm itself: throw-away databases, baseline, next migration."""
