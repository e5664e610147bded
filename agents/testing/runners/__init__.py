"""The test runners that Forge knows: whose a file is, how it is run, and how its report is read."""
