// Submits a batch, polls until it is DONE and lists it: what a dApp does, in types from /openapi.json.
import createClient from "openapi-fetch";
import type { components, paths } from "./openapi.d.ts";

const [url, key, destinationChainId, block, account] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: url, headers: { "api-key": key } });
const data: components["schemas"]["BatchRequest"]["data"] = {
  [destinationChainId]: {
    [`block:${block}`]: {
      header: ["PROPOSER"],
      accounts: { [account]: { props: ["BALANCE"] } },
      absent: [{ transaction: 1000 }],
    },
  },
};

function answered<T>(got: { data?: T; error?: components["schemas"]["ErrorResponse"] }): T {
  if (got.data === undefined) throw new Error(got.error?.error ?? "no answer");
  return got.data;
}

const asked = { body: { destinationChainId, data } }; // without a fee
const estimate = answered(await client.POST("/estimate", asked));
const { witnesses } = answered(await client.POST("/witness", asked));
const submitted = answered(
  await client.POST("/submit-batch-query", { body: { destinationChainId, fee: "0", data } }),
);
let status: components["schemas"]["StatusResponse"];
do {
  await new Promise((resolve) => setTimeout(resolve, 200));
  const query = { batchQueryId: submitted.internalId };
  status = answered(await client.GET("/batch-query-status", { params: { query } }));
} while (status.queryStatus === "IN_PROGRESS");
const { batches } = answered(await client.GET("/batch-queries", {}));
const refused = await client.GET("/batch-query-status", { params: { query: { batchQueryId: "x" } } });
console.log(
  JSON.stringify({
    status: status.queryStatus,
    values: Object.assign({}, ...(status.queries ?? []).map((query) => query.values)),
    events: status.queries?.flatMap((query) => query.events ?? []).map((event) => event.name),
    listed: batches.map((each) => each.internalId),
    submitted: submitted.internalId,
    refused: refused.error?.code,
    free: estimate.free,
    verified: Object.fromEntries(
      [witnesses[0], ...witnesses[0].events]
        .flatMap((proof) => proof.facts)
        .map((fact) => [fact.name, fact.value]),
    ),
  }),
);
