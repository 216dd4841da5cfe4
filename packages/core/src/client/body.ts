import { Buffer, isAscii, isUtf8 } from 'node:buffer';
import { ControlPlaneError } from './errors.ts';

/**
 * Reads a body as text, `maxBytes` at most: an endless one must not fill the memory. Rejects with `invalid_response` beyond, and for bytes
 * that are no UTF-8.
 */
export async function readBody(response: Response, maxBytes: number): Promise<string> {
  const bytes = await readBytes(response, maxBytes);
  // Most answers are, and are then text without being decoded.
  if (isAscii(bytes)) return bytes.toString('latin1');
  if (!isUtf8(bytes)) throw new ControlPlaneError('invalid_response', 'the answer is not UTF-8');
  return bytes.toString('utf8');
}

async function readBytes(response: Response, maxBytes: number): Promise<Buffer> {
  const { headers, body } = response;
  const announced = Number(headers.get('content-length') ?? Number.NaN);
  if (announced > maxBytes) {
    await body?.cancel();
    throw tooLarge(maxBytes);
  }
  // A length that is announced and not of compressed bytes is kept by HTTP itself.
  if (!Number.isNaN(announced) && !headers.has('content-encoding')) return Buffer.from(await response.arrayBuffer());
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const tooLarge = (maxBytes: number) =>
  new ControlPlaneError('invalid_response', `an answer of more than ${maxBytes} bytes`);
