export { type Backtest, backtest, type History, type KeyHistory } from './backtest.ts';
export { mentions } from './condition-schema.ts';
export { parseDuration } from './duration.ts';
export { type Finding, findingsOf, type Judgement } from './evaluate.ts';
export { explain, limitInWords } from './explain.ts';
export {
  type Announcement,
  type Exemption,
  exemptionOf,
  type Facts,
  type KeyFacts,
  type Line,
  type ScopeFacts,
  type Use,
} from './facts.ts';
export { makeGlobTest } from './glob.ts';
export { hasSeen, type Verdict } from './guard.ts';
export { type Hold, incidentHold, revocationHold } from './holds.ts';
export { isNetwork, makeNetworkTest } from './network.ts';
export { type DueNotice, dueNotices, lapsedAnnouncements } from './notices.ts';
export {
  canonicalJson,
  hashPolicy,
  isSameReason,
  judge,
  makePlan,
  type Plan,
  type PlanDocument,
  type PlanItem,
  planVersion,
  sha256,
  toItem,
} from './plan.ts';
export {
  type Action,
  defaultPolicy,
  type Policy,
  policySchema,
  type Rule,
  reviewRule,
  rotationDefaults,
} from './schema.ts';
export { modeOf, unwantedRotationHold } from './unattended.ts';
