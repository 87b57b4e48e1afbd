import type { ErrorResponse } from "./api.ts";

/** What not all errors have: `path` is of an invalid value, `step` of a rejection, and `retryAfter` in seconds. */
export interface ErrorDetails {
  code?: string;
  path?: string;
  retryable?: boolean;
  httpStatus?: number;
  retryAfter?: number | undefined;
  batchId?: string;
  step?: string;
}

/** Base of all errors: a sentence for people; for programs a code, and whether trying again can help. */
export abstract class TacitusError extends Error {
  abstract override readonly name: string;
  declare readonly code: string;
  declare readonly retryable: boolean;

  constructor(sentence: string, readonly details: ErrorDetails = {}, cause?: unknown) {
    super(sentence, { cause });
    Object.assign(this, { code: details.code, retryable: details.retryable ?? false });
  }
}

/** The server refused the request; the codes are listed in its /docs/status. */
export class RequestRefusedError extends TacitusError {
  override readonly name = "RequestRefusedError";
  declare readonly code: ErrorResponse["code"];
}

/** The batch ended without being proven. If `retryable`, submit it again. */
export class BatchRejectedError extends TacitusError {
  override readonly name = "BatchRejectedError";
}

/** The batch is DONE, but one of its deliveries has FAILED; `code` says why. */
export class DeliveryFailedError extends TacitusError {
  override readonly name = "DeliveryFailedError";
}

/** The batch has no facts yet. */
export class BatchNotDoneError extends TacitusError {
  override readonly name = "BatchNotDoneError";
  override readonly code = "not_done";
  override readonly retryable = true;
}

/** A reorg removed facts of the DONE batch, and they could not be proven again. */
export class FactsLostError extends TacitusError {
  override readonly name = "FactsLostError";
  override readonly code = "facts_lost";
}

/** The server did not send a complete response. */
export class ServerUnreachableError extends TacitusError {
  override readonly name = "ServerUnreachableError";
  override readonly code = "unreachable";
  override readonly retryable = true;
}

/** The server did not answer, and may have carried out the request; it is one that is not repeated. */
export class ResponseLostError extends TacitusError {
  override readonly name = "ResponseLostError";
  override readonly code = "response_lost";
}

/** The batch did not end within the timeout; the server continues to work on it. */
export class WaitTimeoutError extends TacitusError {
  override readonly name = "WaitTimeoutError";
  override readonly code = "timed_out";
  override readonly retryable = true;
}

/** The response is not one of a Tacitus server, or of a registry. */
export class UnreadableResponseError extends TacitusError {
  override readonly name = "UnreadableResponseError";
  override readonly code = "unreadable_response";
}

/** The webhook call is not one of the server, or it is too old. */
export class WebhookNotGenuineError extends TacitusError {
  override readonly name = "WebhookNotGenuineError";
  override readonly code = "webhook_not_genuine";
}

/** An argument is invalid; nothing was sent. */
export class UsageError extends TacitusError {
  override readonly name = "UsageError";
  override readonly code = "invalid_usage";
}

/** Every error of this client; `name` tells them apart in a `switch`. */
export type AnyTacitusError =
  | RequestRefusedError | BatchRejectedError | DeliveryFailedError | BatchNotDoneError | FactsLostError
  | ServerUnreachableError | ResponseLostError | WaitTimeoutError | UnreadableResponseError | WebhookNotGenuineError
  | UsageError;

/** Whether the error is one of this client, and not an abort or a bug. */
export function isTacitusError(error: unknown): error is AnyTacitusError {
  return error instanceof TacitusError;
}
