import { randomBytes } from 'node:crypto';
import { columnsOf, present } from '../http/json.ts';
import type { Columns, Database, Row } from '../store/database.ts';
import type { Micros } from '../store/time.ts';

// Credentials of branches: for storage, the AI gateway and functions.

interface NewCredential extends Columns {
  project_id: string;
  branch_id: string;
  name: string | null;
  scopes: readonly string[];
  created_at: Micros;
}

const secrets = (tokenId: string) => ({
  apiToken: `${tokenId}.${randomBytes(24).toString('hex')}`,
  s3Secret: `nsk_live_${randomBytes(32).toString('hex')}`,
});

/** Issues a credential and returns its row, which includes the secrets. `id` is 32 hex digits. */
export function insertCredential(db: Database, wanted: NewCredential, id = randomBytes(16).toString('hex')): Row {
  const tokenId = `nak_live_${id}`;
  const { apiToken, s3Secret } = secrets(tokenId);
  const issued = { token_id: tokenId, principal_type: 'user', api_token: apiToken, s3_secret_access_key: s3Secret };
  db.insert('credential', { ...wanted, ...issued });
  return db.require('credential', { token_id: tokenId });
}

/** Replaces a credential's secrets; id, scopes and creation stay. */
export function rotateCredential(db: Database, tokenId: string): Row {
  const { apiToken, s3Secret } = secrets(tokenId);
  db.update('credential', { token_id: tokenId, api_token: apiToken, s3_secret_access_key: s3Secret });
  return db.require('credential', { token_id: tokenId });
}

/** Returns a credential as lists show it, without secrets. */
export function renderCredential(row: Row): Record<string, unknown> {
  return {
    ...columnsOf(row, 'token_id', 'branch_id', 'principal_type', 'created_at'),
    token_id_short: String(row.token_id).slice('nak_live_'.length, 'nak_live_'.length + 12),
    scopes: JSON.parse(String(row.scopes)),
    ...present(columnsOf(row, 'name', 'last_used_at', 'revoked_at', 'expires_at')),
  };
}

/** Returns the response to issuing or rotating a credential. */
export function renderIssued(row: Row): Record<string, unknown> {
  const { last_used_at: _used, revoked_at: _revoked, ...shown } = renderCredential(row);
  return { ...shown, ...renderSecrets(row) };
}

export const renderSecrets = (row: Row) => columnsOf(row, 'token_id', 'api_token', 's3_secret_access_key');
