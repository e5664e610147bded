"""Twenty deployments behind Debian's HAProxy and Prometheus, each with its own trouble: is every verdict true?"""
