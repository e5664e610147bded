"""The agents that plan, write, test and review code: data in, data out. They never write to GitHub themselves."""
