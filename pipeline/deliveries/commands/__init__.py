"""The ``/forge`` commands of comments, carried out."""
