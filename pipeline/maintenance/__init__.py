"""What runs on a timer or once: retention, purges and redelivery."""
