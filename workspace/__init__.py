"""Access to untrusted code: mirrors, checkouts, drafts, and the sandboxed processes that may read it."""
