"""`make chaos`: the service under faults that operators run into, on each database and engine.

`Installation` starts two chains with three nodes each, a web server, two provers or Celery workers
and beat, a signer of attestations and a receiver of webhooks. `Clients` submit batches, and ten
`Feeds` run and deliver: by the times of the chains' blocks, seven days pass during the faults, if
they take 84 seconds or more.

`Faults` kill programs, make the database, the broker, the receiver, nodes and the targets of
deliveries fail, reorganise chains, and make nodes lie, in four lanes at once.

`Checks` look at batches, facts, transactions, costs, webhooks, feeds and programs once all work has
ended: no run is missed or doubled, each has arrived once, and budgets were held. They use HTTP and
JSON-RPC, not the service's code.

The report has a line per problem, and the command that repeats the run. The exit code is 1 if there
is a problem.
"""
