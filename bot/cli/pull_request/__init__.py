"""`forge review --pr` and the action: one pull request, with a token of a person or of a job."""
