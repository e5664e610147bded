"""Code that holds a credential."""

from tests.world.automation import APP

KEY = "AKIA" + "Z7QW3ERT5YUI9OPL"
LEAKING = f'{APP}\nKEY = "{KEY}"\n'
