export { type Camelled, toCamel } from './camel.ts';
export { canonicalJson, sha256 } from './canonical-json.ts';
export { clientNetwork, isNetwork, makeGlobTest, makeNetworkTest } from './patterns.ts';
export {
  before,
  compareInstants,
  type Duration,
  dayOf,
  daysInWords,
  duration,
  isInstant,
  parseDuration,
  schedule,
  secondOf,
  toMs,
} from './time.ts';
