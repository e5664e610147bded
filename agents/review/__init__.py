"""The reviewer: the checks of layers 1 and 2, the model of layer 3, and what follows from both."""
