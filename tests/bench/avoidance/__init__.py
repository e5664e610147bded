"""Changes of real packages, labelled: half of them give up in disguise, half are honest."""
