export { endExemption, grantExemption } from '../exemptions.ts';
export { addMark, readMark, reportMarkFile, reportOlderStore } from '../high-water-mark.ts';
export { type Access, recordAccess } from './access-log.ts';
export { approvePlan, hasApproved, rejectPlan } from './plans.ts';
export {
  decideReview,
  mostReviewed,
  type NewDecision,
  type NewReview,
  openReview,
  readReviewDocument,
  type Signature,
  signReview,
} from './reviews.ts';
export { requestRotation } from './rotation-requests.ts';
