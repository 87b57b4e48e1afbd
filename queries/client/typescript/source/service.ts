import type {
  BatchRequest, BatchResponse, ConnectionListResponse, ConnectionResponse, DeliveryResponse, ErrorResponse,
  EstimateRequest, EstimateResponse, FeedDetailsResponse, FeedRequest, FeedResponse, FeedRunResponse, NewFeedResponse,
  ProofResponse, StatusResponse, SubmissionResponse, WebhookDeliveryResponse, WitnessListResponse, WitnessResponse,
} from "./api.ts";
import { beaconChains, codeHashes, create2Prefix, maxCommitteeAge, registryContracts } from "./constants.ts";
import {
  BatchNotDoneError, BatchRejectedError, DeliveryFailedError, RequestRefusedError, ResponseLostError,
  ServerUnreachableError, TacitusError, UnreadableResponseError, UsageError, WaitTimeoutError,
} from "./errors.ts";
import { type Fact, type FactKind, type FactOf, factsOfQuery } from "./facts.ts";
import type { Hex } from "./hex.ts";
import { hashHex, toWord } from "./keccak.ts";

export interface CallOptions {
  /** Ends requests and waiting; its reason is thrown. */
  signal?: AbortSignal | undefined;
}

export interface TimeoutOptions extends CallOptions {
  /** Seconds; `Infinity` for no limit. */
  timeout?: number;
}

export interface WaitOptions extends TimeoutOptions {
  /** Whether to wait for the batch's deliveries too; true by default. */
  deliveries?: boolean;
}

export interface PageOptions extends CallOptions {
  /** How many to request at once. */
  limit?: number | undefined;
}

interface SendOptions extends TimeoutOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Retry until this time of `performance.now()`, in place of a few times. */
  deadline?: number;
  /** Whether a second request could do it twice: then retry only what the server has refused. */
  isUnique?: boolean;
}

const jitter = () => 0.8 + 0.4 * Math.random(); // spreads out clients that started at the same time
const MAX_ATTEMPTS = 4;
const MAX_PAUSE = 120; // seconds; a longer Retry-After throws the error instead of waiting
const PROOF_TIMEOUT_FACTOR = 10; // of the timeout, because proof files are larger
const FIRST_RETRY_PAUSE = 0.5; // seconds; doubled after each attempt
const [FIRST_POLL_INTERVAL, POLL_BACKOFF, MAX_POLL_INTERVAL] = [0.5, 1.3, 5]; // seconds; back-off factor

type Members = readonly (number | Hex)[];

/**
 * Whether a beacon registry has genesis, slot length and forks of the known beacon chain of `source`, and no longer
 * maximum age. Null if this version does not know that chain.
 */
function isOfKnownBeaconChain(source: string, constructorArguments: Hex): boolean | null {
  const chains: Record<string, { genesis: Members; forks: readonly Members[] }> = beaconChains;
  const known = chains[`${BigInt(source)}`];
  if (!known) return null;
  const [, , time, seconds, root, , maxAge, offset, count, ...words] =
    constructorArguments.slice(2).toLowerCase().match(/.{1,64}/g) ?? [];
  const forks = words.join("").match(/.{1,384}/g) ?? []; // of six words each
  const encode = (members: Members) => members.map((member) =>
    typeof member === "number" ? toWord(member).slice(2) : member.slice(2).padEnd(64, "0")).join("");
  const knownForks = known.forks.map(encode);
  const first = knownForks.indexOf(forks[0] ?? "");
  return `0x${offset}${count}` === toWord(256) + toWord(forks.length).slice(2)
    && [time, seconds, root].join("") === encode(known.genesis)
    && `0x${maxAge}` <= toWord(maxCommitteeAge)
    && first >= 0 && forks.every((fork, index) => fork === knownForks[first + index]);
}

/** A client of one server, with your API key. */
export class Tacitus {
  readonly url: string;
  readonly #key: string;
  readonly #timeout: number;

  /** `timeout` is in seconds, for one complete response. */
  constructor(url: string, key = "", { timeout = 60 }: { timeout?: number } = {}) {
    if (!/^https?:\/\/[^\s/?#@\\]+(\/[^\s?#]*)?$/.test(url)) {
      throw new UsageError("The server must be a URL such as https://proofs.example.org.");
    }
    this.url = url.replace(/\/+$/, "");
    this.#key = key;
    this.#timeout = timeout;
  }

  /** Submit the batch. All requests with the same `idempotencyKey` store one batch. */
  async submit(
    batch: BatchRequest,
    { idempotencyKey, signal }: CallOptions & { idempotencyKey?: string | undefined } = {},
  ): Promise<SubmissionResponse> {
    // Not randomUUID, which pages that came over plain http lack.
    const headers = { "idempotency-key": idempotencyKey ?? crypto.getRandomValues(new Uint32Array(4)).join("-") };
    return this.#send("POST", "/submit-batch-query", { body: batch, headers, signal });
  }

  /** Return what a batch would cost now. */
  async estimate(batch: EstimateRequest, { signal }: CallOptions = {}): Promise<EstimateResponse> {
    return this.#send("POST", "/estimate", { body: batch, signal });
  }

  /** Return a proof for each source chain, to verify in a transaction of your own. */
  async witness(batch: EstimateRequest, { signal }: CallOptions = {}): Promise<readonly WitnessResponse[]> {
    return list((await this.#send<WitnessListResponse>("POST", "/witness", { body: batch, signal })).witnesses);
  }

  /** Return the batch's status. */
  async status(id: string, { signal }: CallOptions = {}): Promise<StatusResponse> {
    return this.#status(id, {}, { signal });
  }

  /**
   * Iterate over the batch's statuses as they change, until it is DONE and its deliveries have ended. Throws
   * BatchRejectedError, DeliveryFailedError or WaitTimeoutError.
   */
  async *progress(
    id: string,
    { timeout = 600, deliveries = true, signal }: WaitOptions = {},
  ): AsyncGenerator<StatusResponse, void, void> {
    const deadline = performance.now() + 1000 * timeout;
    for (let [interval, last] = [FIRST_POLL_INTERVAL, ""]; ; ) {
      const status = await this.#status(id, { details: "0" }, { signal, deadline });
      const text = JSON.stringify(status);
      if (text !== last) yield status;
      last = text;
      if (isDone(status) && (!deliveries || hasDelivered(status))) return;
      const secondsLeft = (deadline - performance.now()) / 1000;
      if (secondsLeft <= 0) {
        const waiting = isDone(status) ? status.deliveries?.find(isOpen) : undefined;
        const subject = waiting ? "delivery of the batch" : "batch";
        const reason = (waiting ?? status).waitsFor ?? "";
        const sentence = `The ${subject} has not ended within ${timeout} seconds. ${reason}`;
        throw new WaitTimeoutError(sentence.trim(), { batchId: id });
      }
      await pause(Math.min(interval * jitter(), secondsLeft), signal);
      interval = Math.min(interval * POLL_BACKOFF, MAX_POLL_INTERVAL);
    }
  }

  /** Wait until the batch is DONE and its deliveries have ended. Throws as `progress` does. */
  async wait(id: string, options: WaitOptions = {}): Promise<StatusResponse> {
    let last: StatusResponse | undefined;
    for await (const status of this.progress(id, options)) last = status;
    return last!;
  }

  /**
   * Return the proven facts, or those of one `kind`; a batch with `prove` false has none. Throws BatchNotDoneError,
   * BatchRejectedError or FactsLostError.
   */
  async facts<Kind extends FactKind = FactKind>(
    id: string,
    { kind, signal }: CallOptions & { kind?: Kind } = {},
  ): Promise<FactOf<Kind>[]> {
    const facts: Fact[] = [];
    const routes = await this.routes({ signal });
    for (let fromQuery = 0; ; ) {
      const status = await this.#status(id, { fromQuery: `${fromQuery}` }, { signal });
      if (!isDone(status)) {
        throw new BatchNotDoneError(`The batch is ${status.status}; wait until it is DONE.`, { batchId: id });
      }
      if (status.prove === false) return [];
      for (const query of list(status.queries)) facts.push(...factsOfQuery(query, status, routes));
      const next = status.nextQuery ?? null;
      if (next === null) return facts.filter((fact): fact is FactOf<Kind> => !kind || fact.kind === kind);
      if (!(next > fromQuery)) throw new UnreadableResponseError("The server's pages of queries do not end.");
      fromQuery = next;
    }
  }

  /** Return the file with which anyone can verify the DONE batch without this server; save it as JSON. */
  async proof(id: string, { signal }: CallOptions = {}): Promise<ProofResponse> {
    const timeout = PROOF_TIMEOUT_FACTOR * this.#timeout;
    return this.#send("GET", `/batch-queries/${encodeURIComponent(id)}/proof`, { timeout, signal });
  }

  /** Cancel a batch, if no transaction for it is signed yet. It ends REJECTED. */
  async cancel(id: string, { signal }: CallOptions = {}): Promise<StatusResponse> {
    return this.#send("POST", `/batch-queries/${encodeURIComponent(id)}/cancel`, { signal });
  }

  /** Iterate over your batches, newest first; each page is requested when it is needed. */
  batches(options: PageOptions & { status?: BatchResponse["status"] } = {}): AsyncGenerator<BatchResponse, void, void> {
    return this.#items("/batch-queries", "batches", options);
  }

  /** Iterate over the webhooks of your batches, newest first, with their attempts. */
  webhookDeliveries(options: PageOptions = {}): AsyncGenerator<WebhookDeliveryResponse, void, void> {
    return this.#items("/webhook-deliveries", "deliveries", options);
  }

  /** Feeds: the same batch is submitted again whenever it is due. */
  readonly feeds = {
    /** Make a feed; its batch may come from `buildBatch`. If the response is lost, it throws a ResponseLostError. */
    create: async (feed: FeedRequest, { signal }: CallOptions = {}): Promise<NewFeedResponse> =>
      this.#send("POST", "/feeds", { body: feed, isUnique: true, signal }),

    /** Iterate over your feeds, newest first; each page is requested when it is needed. */
    list: (options: PageOptions = {}): AsyncGenerator<FeedResponse, void, void> =>
      this.#items("/feeds", "feeds", options),

    /** Return a feed with its batch and its newest runs. */
    get: async (id: string, { signal }: CallOptions = {}): Promise<FeedDetailsResponse> =>
      this.#send("GET", feedPath(id), { signal }),

    /** Iterate over a feed's runs, newest first; each page is requested when it is needed. */
    runs: (id: string, options: PageOptions = {}): AsyncGenerator<FeedRunResponse, void, void> =>
      this.#items(feedPath(id), "runs", options),

    pause: async (id: string, { signal }: CallOptions = {}): Promise<FeedResponse> =>
      this.#send("PATCH", feedPath(id), { body: { state: "PAUSED" }, signal }),

    /** Resume a paused feed. It makes up for missed runs by its `catchUp`. */
    resume: async (id: string, { signal }: CallOptions = {}): Promise<FeedResponse> =>
      this.#send("PATCH", feedPath(id), { body: { state: "ACTIVE" }, signal }),

    /** Set the maximum that the feed's runs may spend in 24 hours, in wei. */
    setBudget: async (
      id: string,
      budget: bigint | number | string,
      { signal }: CallOptions = {},
    ): Promise<FeedResponse> => this.#send("PATCH", feedPath(id), { body: { budget: `${budget}` }, signal }),

    /** Give the feed a name of at most 60 characters, or remove it with null. */
    rename: async (id: string, name: string | null, { signal }: CallOptions = {}): Promise<FeedResponse> =>
      this.#send("PATCH", feedPath(id), { body: { name }, signal }),

    /** End the feed for good. Its batches stay. */
    end: async (id: string, { signal }: CallOptions = {}): Promise<FeedResponse> =>
      this.#send("DELETE", feedPath(id), { signal }),

    /** Run the feed now, and return the run. If the response is lost, it throws a ResponseLostError. */
    runNow: async (id: string, { signal }: CallOptions = {}): Promise<FeedRunResponse> =>
      this.#send("POST", `${feedPath(id)}/runs`, { isUnique: true, signal }),
  };

  /** Return the server's routes with their registries. */
  async routes({ signal }: CallOptions = {}): Promise<readonly ConnectionResponse[]> {
    return list((await this.#send<ConnectionListResponse>("GET", "/chain-connections", { signal })).connections);
  }

  /**
   * Whether registry, events verifier and lookup are this version's code with the route's constructor arguments, and a
   * beacon registry is of the known beacon chain of its source. Null if only that is unknown, because this version does
   * not know the beacon chain.
   */
  async isGenuine(route: ConnectionResponse, { signal }: CallOptions = {}): Promise<boolean | null> {
    const { kind, registry, eventsVerifier, lookup, lookupArguments, constructorArguments } = route;
    const isAt = async (address: Hex, name: keyof typeof codeHashes, words: Hex) => {
      const { bytecode } = await this.#send<{ bytecode: string }>("GET", `/contracts/${name}.json`, { signal });
      const initCode = `0x${bytecode}${words.slice(2)}`;
      if (!/^0x([0-9a-f]{2})+$/.test(initCode) || hashHex(`0x${bytecode}`) !== codeHashes[name]) return false;
      return address.toLowerCase().slice(2) === hashHex(`${create2Prefix}${hashHex(initCode).slice(2)}`).slice(26);
    };
    const namesSource = !["native", "optimism"].includes(kind); // in its second argument
    const contracts = toWord(registry) + toWord(eventsVerifier).slice(2); // before the lookup's URLs
    const isOfChain = kind !== "beacon" || isOfKnownBeaconChain(route.originChainId, constructorArguments);
    return isOfChain !== false
      && (kind === "native") === (route.originChainId === route.destinationChainId)
      && (!namesSource || constructorArguments.slice(66, 130) === toWord(route.originChainId).slice(2))
      && (await isAt(registry, registryContracts[kind], constructorArguments))
      && (await isAt(eventsVerifier, "EventsVerifier", toWord(registry)))
      && (!lookup
        || (!!lookupArguments?.startsWith(contracts) && (await isAt(lookup, "FactsLookup", lookupArguments))))
      && isOfChain;
  }

  async #status(id: string, query: Record<string, string>, options: SendOptions): Promise<StatusResponse> {
    return this.#send("GET", `/batch-query-status?${new URLSearchParams({ batchQueryId: id, ...query })}`, options);
  }

  async *#items(path: string, name: string, { signal, ...filters }: PageOptions): AsyncGenerator<any, void, void> {
    const query = new URLSearchParams(JSON.parse(JSON.stringify(filters))); // leaves out what is undefined
    for (let hasMore = true; hasMore; ) {
      const page: any = await this.#send("GET", `${path}?${query}`, { signal });
      yield* list(page[name]);
      query.set("cursor", page.cursor);
      hasMore = Boolean(page.cursor);
    }
  }

  /** Send a request. Retry if that can help: a few times, or until `deadline`. */
  async #send<Content>(method: string, path: string, options: SendOptions): Promise<Content> {
    for (let attempts = 1; ; attempts++) {
      try {
        return (await this.#sendOnce(method, path, options)) as Content;
      } catch (error) {
        if (!(error instanceof TacitusError) || !error.retryable) throw error;
        if (options.isUnique && !(error instanceof RequestRefusedError)) {
          const sentence = `${error.message} It may have carried out the request: check before you repeat it.`;
          throw new ResponseLostError(sentence, { ...error.details, retryable: false }, error);
        }
        const backOff = FIRST_RETRY_PAUSE * 2 ** Math.min(attempts - 1, 6) * jitter();
        const seconds = error.details.retryAfter || backOff;
        const isLast = options.deadline === undefined
          ? attempts === MAX_ATTEMPTS
          : performance.now() + 1000 * seconds > options.deadline;
        if (isLast || seconds > MAX_PAUSE) throw error;
        await pause(seconds, options.signal);
      }
    }
  }

  async #sendOnce(method: string, path: string, options: SendOptions): Promise<object> {
    const { signal, timeout = this.#timeout } = options;
    const headers: Record<string, string> = { ...options.headers };
    if (this.#key) headers["api-key"] = this.#key;
    if (options.body) headers["content-type"] = "application/json";
    const timer = AbortSignal.timeout(1000 * timeout);
    try {
      const response = await fetch(this.url + path, {
        method,
        headers,
        body: options.body ? JSON.stringify(options.body) : null,
        credentials: "omit",
        redirect: "manual", // a redirect would send the key to any host
        signal: signal ? AbortSignal.any([signal, timer]) : timer,
      });
      const content = await response.text();
      if (response.ok) return parseObject(content);
      throw errorOfResponse(response, content);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof TacitusError) throw cause;
      throw new ServerUnreachableError(`${this.url} does not answer. Check that it is running.`, {}, cause);
    }
  }
}

function feedPath(id: string): string {
  return `/feeds/${encodeURIComponent(id)}`;
}

function errorOfResponse({ status: httpStatus, headers }: Response, content: string): TacitusError {
  const retryAfter = Number(/^[0-9]{1,6}$/.exec(headers.get("retry-after") ?? "")) || undefined; // seconds
  try {
    const { error, code, path, retryable, detail } = parseObject(content) as Partial<ErrorResponse>;
    if (typeof error === "string" && typeof code === "string" && typeof retryable === "boolean") {
      const sentence = detail ? `${error.replace(/\.$/, "")}. ${detail}` : error;
      return new RequestRefusedError(sentence, { code, path: path ?? "", retryable, httpStatus, retryAfter });
    }
  } catch {} // not JSON
  const target = headers.get("location"); // of a redirect
  const sentence = target
    ? `The server redirects to ${target}. If you trust that URL, use it as the server.`
    : `The server responded with status ${httpStatus}, but not as Tacitus does.`;
  const retryable = httpStatus === 429 || httpStatus >= 500; // of a proxy in front
  return new UnreadableResponseError(sentence, { retryable, httpStatus, retryAfter });
}

function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (signal?.aborted) reject(signal.reason);
      else resolve();
    };
    const timer = setTimeout(end, 1000 * seconds);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}

function parseObject(content: string): object {
  try {
    const body: unknown = JSON.parse(content);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  } catch {} // not JSON
  throw new UnreadableResponseError("The server's response is not a JSON object.");
}

function list<Item>(value: readonly Item[] | undefined): readonly Item[] {
  if (Array.isArray(value)) return value;
  throw new UnreadableResponseError("In the server's response, a list is missing.");
}

function isOpen({ state }: DeliveryResponse): boolean {
  return ["WAITING", "SENT"].includes(state);
}

/** Throws DeliveryFailedError. */
function hasDelivered({ deliveries, internalId }: StatusResponse): boolean {
  const entries = deliveries === undefined ? [] : list(deliveries);
  if (entries.some(isOpen)) return false;
  const failed = entries.find(({ state }) => state === "FAILED");
  if (!failed) return true;
  const sentence = `${failed.function} of ${failed.to} was not delivered: ${failed.error?.message ?? ""}`;
  throw new DeliveryFailedError(sentence, { code: failed.error?.code ?? "delivery_failed", batchId: internalId });
}

/** Throws BatchRejectedError. */
function isDone({ queryStatus, internalId, rejection }: StatusResponse): boolean {
  if (!["IN_PROGRESS", "DONE", "REJECTED"].includes(queryStatus)) {
    throw new UnreadableResponseError("In the server's response, queryStatus is missing or malformed.");
  }
  if (queryStatus !== "REJECTED") return queryStatus === "DONE";
  const { message = "The batch was rejected.", code = "rejected", retryable = false, step } = rejection ?? {};
  throw new BatchRejectedError(message, { code, retryable, step: step ?? "", batchId: internalId });
}
