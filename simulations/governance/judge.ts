import { mostLagMs } from '@keywarden/testkit';
import type { Company, TrueKey } from './company.ts';

const day = 86_400_000;
/** The largest error that clocks and unnoticed replicas cause, in ms. */
const toleranceMs = mostLagMs;

/** The longest that a call may wait for its permit after it was judged, in ms. */
const momentMs = 1000;

export const limits = { neverUsedDays: 10, unusedDays: 20, rotateDays: 15, quietDays: 7 };

export interface Judge {
  /** The layer between the daemon and the sandbox: it judges each revocation by the true state at that moment, and forwards it. */
  fetch: typeof fetch;
  /** Keys that must never be revoked, by id. */
  own: Set<string>;
  /** Exempt keys by id, with the start of the exemption, in ms. */
  exempt: Map<string, number>;
  /** Descriptions of the harms found. There must be none. */
  harms: string[];
  /** Revocations that the control plane carried out. */
  revoked: { id: string; atMs: number; isRotation: boolean }[];
  /** Returns the keys that the policy would revoke by the true state, and that nothing protects. */
  flagged(): Promise<TrueKey[]>;
}

/**
 * Returns a judge with access to the true state. A revocation is wrong if the key was its connection's own or exempt, or if the true state does not
 * flag it at that moment. It is also wrong if it exceeds the daily limit, or if the key is the last unflagged one of its organization.
 */
export function createJudge(company: Company, { perDay }: { perDay: number }): Judge {
  const judge: Judge = {
    fetch,
    own: new Set(['1']),
    exempt: new Map(),
    harms: [],
    revoked: [],
    flagged: async () => [],
  };
  const whyWrong = (key: TrueKey, nowMs: number): string | null => {
    if (judge.own.has(key.id)) return 'is the own key of a connection';
    // A judgement cannot include an exemption from the same moment.
    if ((judge.exempt.get(key.id) ?? nowMs) < nowMs - momentMs) return 'is exempt';
    return reasonsOf(company, key, nowMs).length > 0 ? null : 'is flagged by no rule';
  };
  const isRule = (key: TrueKey) => key.name.startsWith('key-');
  judge.flagged = async () => {
    const nowMs = company.now();
    const all = await company.truth();
    return all.filter(
      (key) => key.isLive && isRule(key) && key.organizationId !== null && whyWrong(key, nowMs) === null,
    );
  };
  judge.fetch = async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    const id = /\/api_keys\/([^/]+)$/.exec(pathname)?.[1];
    if (init?.method !== 'DELETE' || id === undefined) return await company.fetch(input, init);
    const nowMs = company.now();
    const key = (await company.truth()).find((each) => each.id === id);
    const response = await company.fetch(input, init);
    if (!response.ok || key?.isLive !== true) return response;
    const why = whyWrong(key, nowMs);
    if (why !== null) judge.harms.push(`${describe(key)} was revoked at ${iso(nowMs)} and ${why}`);
    judge.revoked.push({ id, atMs: nowMs, isRotation: !isRule(key) });
    const lately = judge.revoked.filter((each) => !each.isRotation && nowMs - each.atMs < day - toleranceMs);
    if (isRule(key) && lately.length > perDay)
      judge.harms.push(`key ${id} is the ${lately.length}th within a day of ${perDay}`);
    return response;
  };
  return judge;
}

/** Returns every rule that truly flags the key, stated independently of the policy. */
function reasonsOf(company: Company, key: TrueKey, nowMs: number): string[] {
  // A use in the last minutes may not be shown yet.
  const uses = company.keys.get(key.id)?.uses.filter((at) => at <= nowMs - toleranceMs);
  const lastUsedMs = uses === undefined || key.lastUsedMs === null ? key.lastUsedMs : (uses.at(-1) ?? null);
  const ageDays = (nowMs + toleranceMs - key.createdMs) / day;
  const quietDays = lastUsedMs === null ? ageDays : (nowMs + toleranceMs - lastUsedMs) / day;
  if (key.name.startsWith('app-')) return quietDays >= limits.quietDays || lastUsedMs === null ? ['rotation'] : [];
  if (!key.name.startsWith('key-')) return [];
  const reasons: string[] = [];
  if (lastUsedMs === null && ageDays >= limits.neverUsedDays) reasons.push('never used');
  if (quietDays >= limits.unusedDays) reasons.push('unused');
  if (key.kind !== 'personal' && !company.isMember(key.creatorId, toleranceMs)) reasons.push('creator left');
  return reasons;
}

const iso = (ms: number) => new Date(ms).toISOString();

const describe = ({ id, name, createdMs, lastUsedMs }: TrueKey) =>
  `key ${id} (${name}, created ${iso(createdMs)}, last used ${lastUsedMs === null ? 'never' : iso(lastUsedMs)})`;
