export { mayFollowCanary, restsOnRevokedSigner, temporaryHoldKinds, unwantedRotationHold } from './automatic.ts';
export { type Backtest, backtest, type History, type KeyHistory } from './backtest.ts';
export { type Condition, mentions } from './condition-schema.ts';
export { evaluate, findingsOf, makeMatch } from './evaluate.ts';
export { explain, limitInWords } from './explain.ts';
export {
  type Announcement,
  controlPlaneOf,
  type Exemption,
  exemptionOf,
  type Facts,
  isOwn,
  type KeyFacts,
  type Lineage,
  type ScopeFacts,
  type Use,
} from './facts.ts';
export type { Finding, Judgement } from './finding.ts';
export { hasSeen } from './guard.ts';
export { revocationHold, useInFlightHold, type Verdict } from './holds.ts';
export { assessor, type Measured } from './measures.ts';
export { type DueNotice, dueNotices, lapsedAnnouncements } from './notices.ts';
export { hashPolicy, isApprovedContent, judge, makePlan, type Plan, type PlanDocument, planVersion } from './plan.ts';
export { isSameReason, type PlanItem, toItem } from './plan-item.ts';
export { reminderDue } from './review-reminders.ts';
export {
  type Action,
  defaultPolicy,
  modeOf,
  type Policy,
  policySchema,
  type Rule,
  reviewRule,
  rotationDefaults,
} from './schema.ts';
