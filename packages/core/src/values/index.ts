export { addDays, type DayRange, dayMs, dayNumbered, dayOf, daysOf, monthOf, monthsOf, startOfDay } from './days.ts';
export { type Camelled, canonicalJson, endOfString, sha256, toCamel } from './json.ts';
export { clientNetwork, isNetwork, makeGlobTest, makeNetworkTest } from './patterns.ts';
export {
  before,
  compareInstants,
  daysInWords,
  duration,
  isInstant,
  parseDuration,
  schedule,
  secondOf,
  toMs,
} from './time.ts';
