"""The Compare page: key phrases of groups, and what one costs in another's dictionary."""
