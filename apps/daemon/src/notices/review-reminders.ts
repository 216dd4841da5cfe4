import { reminderDue } from '@keywarden/core/policy';
import {
  applyReviewDefaults,
  type CampaignReview,
  listCampaignReviews,
  openIncident,
  settleReviewReminders,
  writeMessage,
} from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import type { ReviewBody } from './message.ts';

const types = { overdue: 'review.overdue', escalation: 'review.escalated' } as const;

/**
 * Writes the reminders of access reviews that are due, once for each channel. At the due date it also records the default decisions of campaigns, and
 * opens an incident for each unsigned review. Sends nothing: `announce` does.
 */
export async function writeReviewReminders(context: Context, connections: Connection[]): Promise<void> {
  const { store, config, log } = context;
  const decided = await applyReviewDefaults(store.sql);
  if (decided > 0) log.info({ decided }, 'undecided keys of due reviews got the default decision');
  for (const review of await listCampaignReviews(store.sql)) {
    const { number, title, dueAt, undecided, nowMs, dueMs } = review;
    if (nowMs >= dueMs) {
      const detail = { title, due_at: dueAt, undecided };
      await openIncident(store.db, { kind: 'review_overdue', scope: `review ${number}`, detail });
    }
    const step = reminderDue({ ...review, escalates: review.escalateTo !== null }, nowMs);
    const connection = connections.find(({ controlPlane }) => review.controlPlanes.includes(controlPlane));
    if (step === null || connection === undefined) continue;
    for (const { name: channel } of config.channels) {
      if (review.written.includes(`${channel} ${step}`)) continue;
      const body = toReviewBody(review, { step, connection });
      const { controlPlane } = connection;
      const reminder = { review: number, step };
      await writeMessage(store.sql, { controlPlane, channel, owner: body.data.owner, body, notices: [], reminder });
    }
  }
  await settleReviewReminders(store.sql);
}

function toReviewBody(
  { number, title, reviewer, dueAt, keys, undecided, escalateTo }: CampaignReview,
  { step, connection }: { step: string; connection: Connection },
): ReviewBody {
  return {
    type: step === 'overdue' || step === 'escalation' ? types[step] : 'review.due',
    timestamp: controlPlaneNow(connection),
    data: {
      owner: step === 'escalation' ? (escalateTo ?? reviewer) : reviewer,
      control_plane: connection.identity,
      step,
      review: { id: number, title, reviewer, due_at: dueAt, keys, undecided },
    },
  };
}
