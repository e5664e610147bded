"""The dashboard: pages for people who are signed in with GitHub, which show what they may read there at this moment.

How to add a page of a repository, ``/dashboard/OWNER/REPO/PATH``:

1. Load what it shows with a function in ``memory/…`` that returns frozen dataclasses, paged by key if it can be long.
2. Write ``async def show_something(visit: Visit) -> Shown`` in a module here, for each group of pages. It returns
   ``Page("something.html", "Title", {...})``, ``SeeOther(address)``, ``Download(...)``, or raises ``NotHere``.
   ``visit`` has the services, the repository under its present name, the visitor's role there now, the query
   (``visit.query``), the parts of the path (``visit.parts``) and what makes addresses: ``visit.address("runs", id)``
   for own pages and ``visit.on_github("pull", 7)`` for GitHub's.
3. Write the template in ``templates/``: ``{% extends "repository.html" %}``, blocks ``main`` and perhaps ``facts``.
   ``parts.html`` has macros for times, states, tables that page on. All values are escaped and lose invisible
   characters; never write ``|safe``. There is no script, and no ``style=``: the headers forbid both.
4. Add ``RepositoryPage("path", module.show_something, least="read", tab="Name")`` to ``site.py``. ``least`` is the
   role it takes, asked of GitHub for every request; without it, people get the same 404 as for a repository that does
   not exist. Write the row in the table of ``docs/dashboard.md``.

A form is a ``RepositoryAction("path", module.act, least="write")`` there: it is called only for a POST from our own
pages (``{{ csrf }}`` in the form) by somebody who has the role; ``visit.form`` has its fields. What a command could do
as well asks ``visit.refuse(command)`` first, and ends with ``SeeOther``, so that loading again repeats nothing.
"""
