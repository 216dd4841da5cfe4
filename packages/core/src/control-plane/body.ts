import { ControlPlaneError } from './errors.ts';

/** Reads a body as text, `maxBytes` at most: an endless one must not fill the memory. Rejects with `invalid_response` beyond. */
export async function readBody(response: Response, maxBytes: number): Promise<string> {
  const { headers, body } = response;
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  if (announced > maxBytes) {
    await body?.cancel();
    throw tooLarge(maxBytes);
  }
  // A length that is announced and not of compressed bytes is kept by HTTP itself.
  if (!Number.isNaN(announced) && !headers.has('content-encoding')) return await response.text();
  const decoder = new TextDecoder();
  const parts: string[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    parts.push(decoder.decode(chunk, { stream: true }));
  }
  parts.push(decoder.decode());
  return parts.join('');
}

const tooLarge = (maxBytes: number) =>
  new ControlPlaneError('invalid_response', `an answer of more than ${maxBytes} bytes`);
