import type { WebhookEvent } from "./api.ts";
import { WebhookNotGenuineError } from "./errors.ts";

const TOLERANCE = 300; // seconds

/** Headers of a request, as `fetch` and as Node's `http` have them. */
export type WebhookHeaders = Headers | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * Check the signature of a webhook call, and return its event. Throws WebhookNotGenuineError. `body` must be
 * the bytes or the text as received; `secret` is that of GET /webhook-secret.
 */
export async function verifyWebhook(
  body: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
): Promise<WebhookEvent> {
  const header = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
  const [id, sent] = [header("webhook-id"), header("webhook-timestamp")];
  if (!/^[0-9]{1,12}$/.test(sent) || Math.abs(Date.now() / 1000 - Number(sent)) > TOLERANCE) {
    throw new WebhookNotGenuineError("The call was not sent within the last five minutes.");
  }
  const content = new Blob([body as BlobPart]);
  const signed = await new Blob([`${id}.${sent}.`, content]).arrayBuffer();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const keyBytes = decodeBase64(secret.replace(/^whsec_/, ""));
  const key = await crypto.subtle.importKey("raw", keyBytes, algorithm, false, ["verify"]);
  for (const signature of header("webhook-signature").split(" ")) {
    const [version, text] = signature.split(",");
    const isBase64 = version === "v1" && /^[A-Za-z0-9+/]{43}=$/.test(text ?? "");
    if (isBase64 && (await crypto.subtle.verify(algorithm, key, decodeBase64(text!), signed))) {
      return JSON.parse(await content.text()) as WebhookEvent;
    }
  }
  throw new WebhookNotGenuineError("The call has no valid signature.");
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
