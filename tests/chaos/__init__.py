"""`make chaos`: the service under faults that operators run into, on each database and engine.

`Installation` starts two chains with three nodes each, a web server, two provers or Celery workers
and beat, a signer of attestations and a receiver of webhooks. `Clients` submit batches.

`Faults` kill programs, make the database, the broker, the receiver and nodes fail, reorganise
chains, and make nodes lie, in four lanes at once.

`Checks` look at batches, facts, transactions, costs, webhooks and programs once all work has ended.
They use HTTP and JSON-RPC, not the service's code.

The report has a line per problem, and the command that repeats the run. The exit code is 1 if there
is a problem.
"""
