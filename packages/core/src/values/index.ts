export { type Camelled, toCamel } from './camel.ts';
export { canonicalJson, sha256 } from './canonical-json.ts';
export { addDays, type DayRange, dayMs, dayNumbered, dayOf, daysOf, monthOf, monthsOf, startOfDay } from './days.ts';
export { clientNetwork, isNetwork, makeGlobTest, makeNetworkTest } from './patterns.ts';
export {
  before,
  compareInstants,
  type Duration,
  daysInWords,
  duration,
  isInstant,
  parseDuration,
  schedule,
  secondOf,
  toMs,
} from './time.ts';
