export { canonicalJson, sha256 } from './canonical-json.ts';
export { type Duration, daysInWords, duration, parseDuration } from './duration.ts';
export { makeGlobTest } from './glob.ts';
export { before, compareInstants, isInstant, secondOf, toMs } from './instant.ts';
export { isNetwork, makeNetworkTest } from './network.ts';
export { schedule } from './schedule.ts';
