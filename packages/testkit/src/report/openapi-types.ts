// Generated from the report's OpenAPI description by packages/testkit/tools/openapi.ts.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The process is alive
         * @description Needs no token.
         */
        get: operations["getHealthz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The store answers
         * @description Needs no token. It answers 503 while the store does not answer or too many requests wait, and `degraded` while a node of its cluster does not answer.
         */
        get: operations["getReadyz"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/auth": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The account of the token
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2Auth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/users/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The token as a user
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2UsersMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/users/me/organizations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The organizations in the store
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2UsersMeOrganizations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/organizations/{org_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One organization
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2OrganizationsByOrgId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Projects in the control plane's own shape; with recoverable, projects that are gone
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2Projects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/projects/shared": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Always empty: the archive has no data about shared projects
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2ProjectsShared"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/projects/{project_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One project, even if it is gone
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2ProjectsByProjectId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/projects/{project_id}/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A project's operations in the control plane's own shape, including pruned ones
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2ProjectsByProjectIdOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v2/projects/{project_id}/operations/{operation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One operation in the control plane's own shape
         * @description Answers from the archive in the shape of the control plane, so that its clients can read the archive.
         */
        get: operations["getApiV2ProjectsByProjectIdOperationsByOperationId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All API keys ever observed; with as_of, their states at a past time, and the gaps in that inventory
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Keys as a file; with as_of, their states at a past time. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut
         * @description Role auditor. Shows what the token can see.
         */
        get: operations["getExportsKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * All credentials ever observed that are not API keys; with as_of, those that existed at a past time, and the gaps in that inventory
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getCredentials"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/credentials": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Credentials that are not API keys as a file; with as_of, those that existed at a past time. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut
         * @description Role auditor. Shows what the token can see.
         */
        get: operations["getExportsCredentials"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One key
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getKeysByKey"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key}/observations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A key's history: every version of its record, and when it was missing, gone or back
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getKeysByKeyObservations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{key}/uses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The observed use of a key, newest first, one item per hour and address
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getKeysByKeyUses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/{credential}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One credential
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getCredentialsByCredential"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/{credential}/observations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A credential's history: every version of its record, and when it was missing, gone or back
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getCredentialsByCredentialObservations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/credentials/{credential}/uses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The observed use of a credential, newest first, one item per hour and address; the control plane reports it for branch credentials only
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getCredentialsByCredentialUses"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Keys that match rules, with the evidence; from the newest plan unless plan_id names another
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getFindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/findings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Findings of a plan as a file. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut
         * @description Role auditor. Shows what the token can see.
         */
        get: operations["getExportsFindings"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/revocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Revocations and attempts, newest first: when, why, who approved, and the outcome
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getRevocations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/revocations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Revocations as a file, with reasons and approvers. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut
         * @description Role auditor. Shows what the token can see.
         */
        get: operations["getExportsRevocations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Open and closed incidents, which need a person, newest first
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getIncidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Plans, newest first
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getPlans"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One plan, with the document that it hashes
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getPlansByPlanId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan_id}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The approvals and rejections of a plan, newest first
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getPlansByPlanIdDecisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan_id}/approvals": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Approves a plan produced within the last day, so that the daemon carries it out; above second_person_above keys, two people must approve
         * @description Role operator. For tokens that see all organizations.
         */
        post: operations["postPlansByPlanIdApprovals"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan_id}/rejections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Rejects a plan: earlier approvals no longer count, and revocations of the plan that are under way stop
         * @description Role operator. For tokens that see all organizations.
         */
        post: operations["postPlansByPlanIdRejections"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/plans/{plan_id}/parts": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Makes a plan of its own from some keys of the newest plan: of an organization, a rule, a signed review, or chosen ones. It can be approved by its id
         * @description Role operator. For tokens that see all organizations.
         */
        post: operations["postPlansByPlanIdParts"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exemptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Exemptions from rules, newest first
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getExemptions"];
        put?: never;
        /**
         * Grants an exemption to existing keys, with an end and a reason; asked again, it returns the one in force
         * @description Role operator. Shows what the token can see.
         */
        post: operations["postExemptions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exemptions/{exemption}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends an exemption early
         * @description Role operator. Shows what the token can see.
         */
        post: operations["postExemptionsByExemptionEnd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rotations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Rotations, newest first: the state of each, and its history
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getRotations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rotations/{rotation_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One rotation
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getRotationsByRotationId"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rotation-requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Rotation requests made through the report, newest first, with the answers of the daemon
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getRotationRequests"];
        put?: never;
        /**
         * Requests a rotation of a key; the daemon answers in its next pass
         * @description Role operator. Shows what the token can see.
         */
        post: operations["postRotationRequests"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Access reviews, newest first
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getReviews"];
        put?: never;
        /**
         * Opens a review of a frozen snapshot of keys: those that exist now, or existed at as_of
         * @description Role auditor. For tokens that see all organizations.
         */
        post: operations["postReviews"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/reviews": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The keys of one access review, or of all, with the decision about each, as a file. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut
         * @description Role auditor. For tokens that see all organizations.
         */
        get: operations["getExportsReviews"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One review and its progress
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getReviewsByReview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The frozen keys of a review, with the decision about each, and what a reviewer needs to know of it
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getReviewsByReviewKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/decisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every decision of a review, including replaced ones, oldest first
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getReviewsByReviewDecisions"];
        put?: never;
        /**
         * Decides about keys of an open review: keep, revoke or rotate, with a reason; the newest decision counts
         * @description Role auditor. For tokens that see all organizations.
         */
        post: operations["postReviewsByReviewDecisions"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/document": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The canonical JSON of a review; the signature has its SHA-256
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getReviewsByReviewDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/reviews/{review}/signature": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Signs a fully decided review: it can no longer change, and its decisions take effect
         * @description Role operator. For tokens that see all organizations.
         */
        post: operations["postReviewsByReviewSignature"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/campaigns": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Review campaigns with their progress, newest first
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getCampaigns"];
        put?: never;
        /**
         * Opens a campaign: a review for each organization or owner of the chosen keys
         * @description Role auditor. For tokens that see all organizations.
         */
        post: operations["postCampaigns"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/campaigns/{campaign}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One campaign and its progress
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getCampaignsByCampaign"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/campaigns/{campaign}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Cancels a campaign: no reminders, no default decisions. Its reviews stay, and signed ones stay in effect
         * @description Role auditor. For tokens that see all organizations.
         */
        post: operations["postCampaignsByCampaignCancel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Operations, newest first, including those that the control plane has pruned
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Operations as a file, newest first. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut
         * @description Role auditor. Shows what the token can see.
         */
        get: operations["getExportsOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects/{project_id}/operations/{operation_id}/versions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Every observed version of an operation, newest first
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getProjectsByProjectIdOperationsByOperationIdVersions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/operations/buckets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * How many operations were created in each hour, day or month of UTC, oldest first
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getOperationsBuckets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/organizations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Observed organizations
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getOrganizations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/projects": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Observed projects, including projects that are gone
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getProjects"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/coverage/operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * For each project, the times for which the archive has every operation, and the gaps with their reasons
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getCoverageOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/coverage/inventory": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The complete key listings of each account and organization, and gaps of more than a day between them
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getCoverageInventory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sync runs, newest first
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/connections": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Connections to control planes: what each sees, and its blind spots
         * @description Role viewer. For tokens that see all organizations.
         */
        get: operations["getConnections"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/access-log": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The recorded requests: reads, exports, changes and refused tokens, newest first
         * @description Role auditor. For tokens that see all organizations.
         */
        get: operations["getAccessLog"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Sessions of the dashboard, newest first
         * @description Role operator. For tokens that see all organizations.
         */
        get: operations["getSessions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sessions/{session}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends a session; its cookie stops working at once
         * @description Role operator. For tokens that see all organizations.
         */
        post: operations["postSessionsBySessionEnd"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/evidence/controls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The controls that evidence is available for
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getEvidenceControls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/evidence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Evidence for controls in a period, as a zip archive: requirements, measurements, exceptions and blind spots
         * @description Role auditor. For tokens that see all organizations.
         */
        get: operations["getEvidence"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ledger/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Events of the ledger, newest first
         * @description Role auditor. For tokens that see all organizations.
         */
        get: operations["getLedgerEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/ledger/events/{event}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The receipt of an event: one file that proves offline that the ledger has it (c2sp.org/tlog-proof)
         * @description Role auditor. For tokens that see all organizations.
         */
        get: operations["getLedgerEventsByEventReceipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/{sha256}/receipt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The receipt of a file that this report has exported, by the SHA-256 of its bytes. `keywarden verify FILE RECEIPT` proves that the file is as it was exported
         * @description Role auditor. For tokens that see all organizations.
         */
        get: operations["getExportsBySha256Receipt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports/sealed-operations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The operations of projects and days with the receipts of their seals, as a zip archive that `keywarden verify` checks offline
         * @description Role auditor. Shows what the token can see.
         */
        get: operations["getExportsSealedOperations"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The token of this request, its role and its organizations
         * @description Role viewer. Shows what the token can see.
         */
        get: operations["getMe"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ArchiveError: {
            request_id: string;
            code: string;
            message: string;
        };
        FlaggedKey: {
            /** @description The key's own number in the store, which is used in its address here */
            number: string;
            control_plane: string;
            scope: string;
            id: string;
            /** @enum {string} */
            kind: "personal" | "organization" | "project";
            name: string;
            organization_id: string | null;
            organization_name: string | null;
            project_id: string | null;
            creator: {
                id: string;
                name: string | null;
            };
            owner: string;
            /**
             * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
             * @enum {string}
             */
            state: "active" | "missing" | "gone" | "unknown";
            /** Format: date-time */
            created_at: string;
            /**
             * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
             * @enum {string}
             */
            use: "used" | "never" | "unknown";
            /** Format: date-time */
            last_used_at: string | null;
            last_used_from: string | null;
            /** Format: date-time */
            first_seen_at: string;
            /** Format: date-time */
            last_seen_at: string | null;
            /** Format: date-time */
            gone_at: string | null;
            /** @description The rules that match the key in the newest plan, also with as_of */
            rules: string[];
        };
        /** @description The intervals for which it is unknown whether other keys existed in the scope */
        InventoryGap: {
            control_plane: string;
            scope: string;
            /** Format: date-time */
            from: string | null;
            /** Format: date-time */
            to: string | null;
        };
        Problem: {
            /** @enum {string} */
            type: "about:blank";
            status: number;
            title: string;
            detail: string;
            request_id: string;
        };
        Credential: {
            /** @description The key's own number in the store, which is used in its address here */
            number: string;
            control_plane: string;
            scope: string;
            id: string;
            /**
             * @description branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts
             * @enum {string}
             */
            kind: "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
            name: string;
            organization_id: string | null;
            organization_name: string | null;
            project_id: string | null;
            creator: {
                id: string;
                name: string | null;
            };
            owner: string;
            /**
             * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
             * @enum {string}
             */
            state: "active" | "missing" | "gone" | "unknown";
            /**
             * Format: date-time
             * @description Null if the control plane does not report it
             */
            created_at: string | null;
            /**
             * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
             * @enum {string}
             */
            use: "used" | "never" | "unknown";
            /** Format: date-time */
            last_used_at: string | null;
            last_used_from: string | null;
            /** Format: date-time */
            first_seen_at: string;
            /** Format: date-time */
            last_seen_at: string | null;
            /** Format: date-time */
            gone_at: string | null;
            branch_id: string | null;
            /** @description Who can use the credential, if the control plane reports it */
            holder: string | null;
            /**
             * Format: date-time
             * @description Null for a branch credential that never expires, and for other kinds, whose expiry is not reported
             */
            expires_at: string | null;
            /** @description The other fields of its list entry, without secrets */
            detail: {
                [key: string]: unknown;
            } | null;
        };
        Key: {
            /** @description The key's own number in the store, which is used in its address here */
            number: string;
            control_plane: string;
            scope: string;
            id: string;
            /** @enum {string} */
            kind: "personal" | "organization" | "project";
            name: string;
            organization_id: string | null;
            organization_name: string | null;
            project_id: string | null;
            creator: {
                id: string;
                name: string | null;
            };
            owner: string;
            /**
             * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
             * @enum {string}
             */
            state: "active" | "missing" | "gone" | "unknown";
            /** Format: date-time */
            created_at: string;
            /**
             * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
             * @enum {string}
             */
            use: "used" | "never" | "unknown";
            /** Format: date-time */
            last_used_at: string | null;
            last_used_from: string | null;
            /** Format: date-time */
            first_seen_at: string;
            /** Format: date-time */
            last_seen_at: string | null;
            /** Format: date-time */
            gone_at: string | null;
        };
        KeyObservation: {
            /** Format: date-time */
            seen_at: string;
            /** @enum {string} */
            event: "first_seen" | "changed" | "missing" | "gone" | "back" | "revoked";
            record: {
                [key: string]: unknown;
            } | null;
            run: string | null;
        };
        KeyUse: {
            /** Format: date-time */
            last_used_at: string;
            address: string | null;
            /** Format: date-time */
            hour: string;
        };
        Finding: {
            plan_id: string;
            rule: string;
            /** @enum {string} */
            action: "report" | "notify" | "rotate" | "revoke";
            /** @enum {string} */
            disposition: "planned" | "held" | "reported";
            why_held: string | null;
            hold_kind: string | null;
            limit: string;
            reason: string;
            evidence: {
                [key: string]: unknown;
            };
            key: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                scope: string;
                id: string;
                /** @enum {string} */
                kind: "personal" | "organization" | "project" | "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                name: string;
                organization_id: string | null;
            };
            organization_name: string | null;
            owner: string;
        };
        Revocation: {
            id: string;
            key: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                scope: string;
                id: string;
                /** @enum {string} */
                kind: "personal" | "organization" | "project" | "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                name: string;
                organization_id: string | null;
            };
            /** @enum {string} */
            cause: "plan" | "rotation";
            plan_id: string | null;
            rotation_id: string | null;
            approved_by: string | null;
            via: string | null;
            reasons: {
                rule: string | null;
                reason: string;
            }[];
            connection: string;
            policy_sha256: string | null;
            /** Format: date-time */
            intended_at: string;
            /**
             * Format: date-time
             * @description The control plane's time at which the key was judged
             */
            judged_at: string | null;
            /**
             * @description gone: no longer there, and not known to be revoked by Keywarden. open: later listings decide the outcome
             * @enum {string}
             */
            outcome: "revoked" | "gone" | "not_revoked" | "failed" | "open";
            /** Format: date-time */
            ended_at: string | null;
            used_in_flight: boolean;
            /**
             * Format: date-time
             * @description When a second listing in a row lacked the key, after its last attempt had been refused or had not revoked it. The answer may have been false; who revoked the key is not known
             */
            gone_at: string | null;
        };
        Incident: {
            id: string;
            /** @enum {string} */
            kind: "used_in_flight" | "breaker" | "high_water_mark" | "rotation_stalled" | "orphan" | "job_failed" | "key_changed" | "configuration" | "listing_doubted" | "signature_broken" | "review_overdue" | "ledger_inconsistent" | "revocation_undone";
            /** @enum {string} */
            state: "open" | "closed";
            /** Format: date-time */
            opened_at: string;
            scope: string | null;
            key: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                id: string;
                name: string;
            } | null;
            plan_id: string | null;
            detail: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            closed_at: string | null;
            closed_by: string | null;
            note: string | null;
        };
        Plan: {
            id: string;
            sha256: string;
            policy_sha256: string | null;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When the same facts last produced this plan
             */
            last_made_at: string;
            items: number;
            held: number;
            reported: number;
            approvals: number;
            /** @description Persons whose approval is valid now */
            approvers: number;
            approvers_needed: number;
            rejected: boolean;
            /** @description The plan that this one is a part of */
            derived_from: string | null;
            /** @description The newer plan, which can be approved instead */
            superseded_by: string | null;
            /** @description Why the daemon does not carry out an approved plan, as of its last pass */
            blocked: string | null;
            /** @description Keys that were revoked under this plan */
            revoked: number;
        };
        PlanWithDocument: {
            id: string;
            sha256: string;
            policy_sha256: string | null;
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description When the same facts last produced this plan
             */
            last_made_at: string;
            items: number;
            held: number;
            reported: number;
            approvals: number;
            /** @description Persons whose approval is valid now */
            approvers: number;
            approvers_needed: number;
            rejected: boolean;
            /** @description The plan that this one is a part of */
            derived_from: string | null;
            /** @description The newer plan, which can be approved instead */
            superseded_by: string | null;
            /** @description Why the daemon does not carry out an approved plan, as of its last pass */
            blocked: string | null;
            /** @description Keys that were revoked under this plan */
            revoked: number;
            document: {
                [key: string]: unknown;
            };
        };
        PlanDecision: {
            plan_id: string;
            /** @enum {string} */
            decision: "approved" | "rejected";
            by: string;
            /** @enum {string} */
            via: "command line" | "report" | "enforcement";
            reason: string | null;
            /** Format: date-time */
            at: string;
            /** @enum {string|null} */
            ended: "done" | "stopped" | null;
        };
        Exemption: {
            id: string;
            /** @description null means every rule */
            rules: string[] | null;
            /** @description Hidden if it also covers keys that the token cannot see */
            reason: string;
            pattern: string | null;
            granted_by: string;
            /** Format: date-time */
            granted_at: string;
            /** Format: date-time */
            until: string;
            /** @enum {string} */
            state: "in_force" | "ended" | "lapsed";
            /** Format: date-time */
            ended_at: string | null;
            ended_by: string | null;
            keys: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                id: string;
                name: string;
                organization_id: string | null;
                scope: string;
                /** @description Its address */
                control_plane: string;
            }[];
        };
        NewExemption: {
            /** @description The keys' numbers in Keywarden */
            keys: string[];
            /**
             * @description null: every rule
             * @default null
             */
            rules: string[] | null;
            /** @description The reason, in words */
            reason: string;
            /** Format: date-time */
            until?: string;
            /** @description A duration instead of until: 90d */
            for?: string;
        };
        Rotation: {
            id: string;
            key: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                scope: string;
                id: string;
                /** @enum {string} */
                kind: "personal" | "organization" | "project" | "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                name: string;
                organization_id: string | null;
            };
            successor_id: string | null;
            rule: string | null;
            sink: string;
            /** @enum {string} */
            state: "planned" | "minting" | "minted" | "delivered" | "overlapping" | "adopted" | "retiring" | "retired" | "failed" | "orphaned" | "stalled";
            /** Format: date-time */
            since: string;
            why: string | null;
            /** @enum {string} */
            via: "policy" | "command line" | "report";
            requested_by: string;
            /** Format: date-time */
            opened_at: string;
            /** Format: date-time */
            ended_at: string | null;
            given_up_by: string | null;
            events: {
                /** @enum {string} */
                state: "planned" | "minting" | "minted" | "delivered" | "overlapping" | "adopted" | "retiring" | "retired" | "failed" | "orphaned" | "stalled";
                /** Format: date-time */
                at: string;
                why: string | null;
            }[];
        };
        RotationRequest: {
            id: string;
            key: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                scope: string;
                id: string;
                /** @enum {string} */
                kind: "personal" | "organization" | "project" | "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                name: string;
                organization_id: string | null;
            };
            requested_by: string;
            reason: string;
            /** Format: date-time */
            requested_at: string;
            /** Format: date-time */
            answered_at: string | null;
            rotation_id: string | null;
            why_not: string | null;
        };
        NewRotationRequest: {
            /** @description The key's number in Keywarden */
            key: string;
            /** @description The reason, in words */
            reason: string;
        };
        Review: {
            id: string;
            title: string;
            /** @enum {string} */
            state: "open" | "signed";
            /** Format: date-time */
            as_of: string;
            filter: {
                [key: string]: unknown;
            };
            holes: components["schemas"]["InventoryGap"][];
            /** @description The plan whose findings are shown with the keys */
            plan_id: string | null;
            /** @description How long a key that is kept despite a rule's finding is exempt from that rule */
            keep_for_days: number;
            opened_by: string;
            /** Format: date-time */
            opened_at: string;
            signed_by: string | null;
            /** Format: date-time */
            signed_at: string | null;
            /** @description SHA-256 of the review's document, once it is signed */
            sha256: string | null;
            /** @description Whether a signed review still has the content that was signed; a review that has not decides nothing. null before it is signed */
            intact: boolean | null;
            keys: number;
            campaign_id: string | null;
            /** @description Who is reminded of a review of a campaign */
            reviewer: string | null;
            /**
             * Format: date-time
             * @description When a review of a campaign must be signed
             */
            due_at: string | null;
            undecided: number;
            /** @description Keys whose newest decision is the default of the campaign */
            by_default: number;
            keep: number;
            revoke: number;
            rotate: number;
        };
        ReviewedKeyInContext: {
            review_id: string;
            /** @description The key or other credential as it was when the review was opened; `use` and `organization_name` are missing in early reviews */
            key: {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                control_plane: string;
                scope: string;
                id: string;
                /** @enum {string} */
                kind: "personal" | "organization" | "project";
                name: string;
                organization_id: string | null;
                organization_name?: string | null;
                project_id: string | null;
                creator: {
                    id: string;
                    name: string | null;
                };
                owner: string;
                /**
                 * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
                 * @enum {string}
                 */
                state: "active" | "missing" | "gone" | "unknown";
                /** Format: date-time */
                created_at: string;
                /**
                 * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
                 * @enum {string}
                 */
                use?: "used" | "never" | "unknown";
                /** Format: date-time */
                last_used_at: string | null;
                last_used_from: string | null;
                /** Format: date-time */
                first_seen_at: string;
                /** Format: date-time */
                last_seen_at: string | null;
                /** Format: date-time */
                gone_at: string | null;
            } | {
                /** @description The key's own number in the store, which is used in its address here */
                number: string;
                control_plane: string;
                scope: string;
                id: string;
                /**
                 * @description branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts
                 * @enum {string}
                 */
                kind: "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                name: string;
                organization_id: string | null;
                organization_name?: string | null;
                project_id: string | null;
                creator: {
                    id: string;
                    name: string | null;
                };
                owner: string;
                /**
                 * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
                 * @enum {string}
                 */
                state: "active" | "missing" | "gone" | "unknown";
                /**
                 * Format: date-time
                 * @description Null if the control plane does not report it
                 */
                created_at: string | null;
                /**
                 * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
                 * @enum {string}
                 */
                use?: "used" | "never" | "unknown";
                /** Format: date-time */
                last_used_at: string | null;
                last_used_from: string | null;
                /** Format: date-time */
                first_seen_at: string;
                /** Format: date-time */
                last_seen_at: string | null;
                /** Format: date-time */
                gone_at: string | null;
                branch_id: string | null;
                /** @description Who can use the credential, if the control plane reports it */
                holder: string | null;
                /**
                 * Format: date-time
                 * @description Null for a branch credential that never expires, and for other kinds, whose expiry is not reported
                 */
                expires_at: string | null;
                /** @description The other fields of its list entry, without secrets */
                detail: {
                    [key: string]: unknown;
                } | null;
            };
            findings: {
                rule: string;
                action: string;
                disposition: string;
                reason: string;
            }[];
            /** @enum {string|null} */
            decision: "keep" | "revoke" | "rotate" | null;
            reason: string | null;
            decided_by: string | null;
            /** Format: date-time */
            decided_at: string | null;
            context: components["schemas"]["ReviewContext"];
        };
        ReviewContext: {
            /**
             * @description What the key can reach: one project, its organization, or all organizations of its user
             * @enum {string}
             */
            reach: "project" | "organization" | "account";
            /** @description How many of these projects a connection lists, up to 1000; null if none is known */
            projects: number | null;
            /** @description In how many hours of the last 90 days a use was observed, by the hour of the day in UTC */
            use_by_hour: number[];
            /** @description The decision of the newest other review that was signed */
            last_decision: {
                review_id: string;
                /** @enum {string} */
                decision: "keep" | "revoke" | "rotate";
                decided_by: string;
                /** Format: date-time */
                signed_at: string;
            } | null;
        };
        ReviewDecision: {
            key_number: string;
            /** @enum {string} */
            decision: "keep" | "revoke" | "rotate";
            reason: string;
            decided_by: string;
            /** Format: date-time */
            decided_at: string;
        };
        NewReview: {
            title: string;
            /** @description Which keys to review; default: all existing keys */
            keys?: {
                organization_id?: string;
                project_id?: string;
                /** @enum {string} */
                kind?: "personal" | "organization" | "project";
                /**
                 * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
                 * @enum {string}
                 */
                state?: "active" | "missing" | "gone" | "unknown";
                creator_id?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description A rule that matches the key in the newest plan, also with as_of */
                rule?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /**
                 * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
                 * @enum {string}
                 */
                use?: "used" | "never" | "unknown";
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Part of a name */
                q?: string;
                /**
                 * Format: date-time
                 * @description Shows keys as they were at this past time, according to the listings
                 */
                as_of?: string;
            };
            /** @description Which credentials that are not API keys to review, instead of keys */
            credentials?: {
                organization_id?: string;
                project_id?: string;
                branch_id?: string;
                /**
                 * @description branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts
                 * @enum {string}
                 */
                kind?: "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                /**
                 * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
                 * @enum {string}
                 */
                state?: "active" | "missing" | "gone" | "unknown";
                /** @description Who can use the credential */
                holder?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Expires within this time (14d), or has expired */
                expires_within?: string;
                /**
                 * @description true: only credentials that expire; false: only those that are known never to expire
                 * @enum {string}
                 */
                expires?: "true" | "false";
                /** @description Part of a name */
                q?: string;
                /**
                 * Format: date-time
                 * @description Shows keys as they were at this past time, according to the listings
                 */
                as_of?: string;
            };
            /** @default 180 */
            keep_for_days: number;
        };
        NewDecision: {
            keys: string[];
            /** @enum {string} */
            decision: "keep" | "revoke" | "rotate";
            /** @description Required, except to keep keys for which the campaign of the review requires none */
            reason?: string;
        };
        Signature: {
            sha256: string;
            /** @description Keys that were kept against rules and are exempt from them for a time */
            exemptions: number;
            /** @description Requested rotations */
            rotations: number;
            /** @description Keys to revoke, which the next plan flags: a person approves it, unless the policy enforces a rule on reviewed_out */
            revocations: number;
            /** @description Credentials that Keywarden cannot revoke: a person must end them in the control plane */
            to_end_upstream: number;
        };
        Campaign: {
            id: string;
            title: string;
            /**
             * @description overdue: the due date has passed, and not every review is signed
             * @enum {string}
             */
            state: "open" | "overdue" | "signed" | "canceled";
            /**
             * @description One review for each organization, or for each owner
             * @enum {string}
             */
            split_by: "organization" | "owner";
            /** Format: date-time */
            due_at: string;
            /** @description How many days before the due date reviewers are reminded */
            remind_days: number[];
            /**
             * @description The decision about keys that are undecided at the due date; none leaves them undecided
             * @enum {string}
             */
            default_decision: "none" | "keep" | "revoke";
            /**
             * @description For which keys the decision to keep needs a reason: always; finding: keys with a finding; flagged: keys that a rule wants to revoke or rotate
             * @enum {string}
             */
            keep_needs_reason: "always" | "finding" | "flagged";
            /** @description Who is notified of reviews that stay overdue */
            escalate_to: string | null;
            escalate_after_days: number;
            opened_by: string;
            /** Format: date-time */
            opened_at: string;
            /** Format: date-time */
            canceled_at: string | null;
            canceled_by: string | null;
            canceled_because: string | null;
            reviews: number;
            signed: number;
            keys: number;
            undecided: number;
            /** @description Keys whose newest decision is the default of the campaign */
            by_default: number;
        };
        NewCampaign: {
            title: string;
            /** @description Which keys to review; default: all existing keys */
            keys?: {
                organization_id?: string;
                project_id?: string;
                /** @enum {string} */
                kind?: "personal" | "organization" | "project";
                /**
                 * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
                 * @enum {string}
                 */
                state?: "active" | "missing" | "gone" | "unknown";
                creator_id?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description A rule that matches the key in the newest plan, also with as_of */
                rule?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /**
                 * @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong
                 * @enum {string}
                 */
                use?: "used" | "never" | "unknown";
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Part of a name */
                q?: string;
                /**
                 * Format: date-time
                 * @description Shows keys as they were at this past time, according to the listings
                 */
                as_of?: string;
            };
            /** @description Which credentials that are not API keys to review, instead of keys */
            credentials?: {
                organization_id?: string;
                project_id?: string;
                branch_id?: string;
                /**
                 * @description branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts
                 * @enum {string}
                 */
                kind?: "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                /**
                 * @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone
                 * @enum {string}
                 */
                state?: "active" | "missing" | "gone" | "unknown";
                /** @description Who can use the credential */
                holder?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Expires within this time (14d), or has expired */
                expires_within?: string;
                /**
                 * @description true: only credentials that expire; false: only those that are known never to expire
                 * @enum {string}
                 */
                expires?: "true" | "false";
                /** @description Part of a name */
                q?: string;
                /**
                 * Format: date-time
                 * @description Shows keys as they were at this past time, according to the listings
                 */
                as_of?: string;
            };
            /** @default 180 */
            keep_for_days: number;
            /**
             * @description One review for each organization, or for each owner
             * @enum {string}
             */
            split_by: "organization" | "owner";
            /**
             * @description When every review must be signed; a date is its end, in UTC
             * @example 2026-03-31
             */
            due_at: string;
            /**
             * @description How many days before the due date reviewers are reminded through the channels
             * @default [
             *       7,
             *       1
             *     ]
             */
            remind_days: number[];
            /**
             * @description The decision about keys that are undecided at the due date; none leaves them undecided
             * @default none
             * @enum {string}
             */
            default_decision: "none" | "keep" | "revoke";
            /**
             * @description For which keys the decision to keep needs a reason: always; finding: keys with a finding; flagged: keys that a rule wants to revoke or rotate
             * @default always
             * @enum {string}
             */
            keep_needs_reason: "always" | "finding" | "flagged";
            /** @description Who is notified of reviews that stay overdue */
            escalate_to?: string;
            /** @default 3 */
            escalate_after_days: number;
        };
        Cancellation: {
            /** @description The reason, in words */
            reason: string;
        };
        Operation: {
            id: string;
            project_id: string;
            organization_id: string;
            branch_id: string | null;
            endpoint_id: string | null;
            action: string;
            status: string;
            failures_count: number;
            error: string | null;
            /** Format: date-time */
            retry_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            total_duration_ms: number | null;
            /** @description Received fields that have no column */
            extra: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: date-time
             * @description When this version was first seen
             */
            seen_at: string;
            /**
             * Format: date-time
             * @description When a completed walk last found it at the control plane; null before the first completed walk
             */
            last_seen_upstream_at: string | null;
        };
        OperationVersion: {
            id: string;
            project_id: string;
            organization_id: string;
            branch_id: string | null;
            endpoint_id: string | null;
            action: string;
            status: string;
            failures_count: number;
            error: string | null;
            /** Format: date-time */
            retry_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            total_duration_ms: number | null;
            /** @description Received fields that have no column */
            extra: {
                [key: string]: unknown;
            } | null;
            /**
             * Format: date-time
             * @description When this version was first seen
             */
            seen_at: string;
            /**
             * Format: date-time
             * @description When another version replaced it; null for the newest
             */
            replaced_at: string | null;
        };
        OperationBucket: {
            /** Format: date-time */
            start: string;
            project_id: string | null;
            action: string | null;
            status: string | null;
            operations: number;
            with_failures: number;
            mean_duration_ms: number | null;
        };
        Organization: {
            id: string;
            control_plane: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            first_seen_at: string;
            /** Format: date-time */
            last_seen_at: string;
        };
        Project: {
            id: string;
            control_plane: string;
            organization_id: string;
            name: string;
            /**
             * @description missing: absent from one list; two absences make it gone
             * @enum {string}
             */
            state: "active" | "missing" | "gone";
            region_id: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            first_seen_at: string;
            /** Format: date-time */
            last_seen_at: string;
            /** Format: date-time */
            gone_at: string | null;
            /** Format: date-time */
            walked_at: string | null;
        };
        OperationCoverage: {
            control_plane: string;
            organization_id: string;
            project_id: string;
            name: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            walked_at: string | null;
            /** Format: date-time */
            gone_at: string | null;
            /** Format: date-time */
            last_listed_at: string;
            known: {
                /** Format: date-time */
                from: string;
                /** Format: date-time */
                to: string;
                from_included: boolean;
                to_included: boolean;
            }[];
            unknown: {
                /** Format: date-time */
                from: string;
                /** Format: date-time */
                to: string;
                from_included: boolean;
                to_included: boolean;
                /** @enum {string} */
                reason: "recent" | "deleted" | "not_walked" | "pruned" | "gap" | "instant" | "unreadable" | "retention";
            }[];
        };
        InventoryCoverage: {
            control_plane: string;
            /** @description user:ID or organization:ID */
            scope: string;
            /**
             * Format: date-time
             * @description Null if no listing was trusted so far
             */
            first_listed_at: string | null;
            /** Format: date-time */
            last_listed_at: string | null;
            listings: number;
            /** @description A key that existed only within one of these intervals may never have been observed */
            gaps: {
                /** Format: date-time */
                from: string;
                /** Format: date-time */
                to: string;
            }[];
            /** @description Why the newest listings are suspect, and since when */
            suspect: {
                /** Format: date-time */
                since: string;
                why: string;
            } | null;
            /**
             * @deprecated
             * @description The former name of suspect
             */
            doubt: {
                /** Format: date-time */
                since: string;
                why: string;
            } | null;
        };
        Run: {
            id: string;
            /** @enum {string} */
            kind: "keys" | "operations" | "credentials";
            connection: string;
            /** @enum {string} */
            status: "running" | "finished" | "failed" | "interrupted";
            /** Format: date-time */
            started_at: string;
            /** Format: date-time */
            finished_at: string | null;
            counts: {
                [key: string]: number;
            };
            error: {
                type: string;
                code: string;
                message?: string;
            } | null;
        };
        Connection: {
            name: string;
            control_plane: string;
            account_id: string;
            auth_method: string;
            own_key_id: string | null;
            is_sandbox: boolean;
            /** Format: date-time */
            checked_at: string;
            /** Format: date-time */
            removed_at: string | null;
            scopes: {
                scope: string;
                /** Format: date-time */
                seen_at: string;
            }[];
            blind_spots: {
                /** @enum {string} */
                kind: "personal_keys" | "members_unknown" | "listing_old" | "never_listed" | "own_key_unknown";
                scope: string | null;
                members: number | null;
                /** Format: date-time */
                since: string | null;
            }[];
        };
        Access: {
            /** Format: date-time */
            at: string;
            /** @description null if no valid token was presented */
            token: {
                id: string;
                name: string;
                /** @enum {string} */
                role: "viewer" | "auditor" | "operator";
            } | null;
            /** @enum {string} */
            event: "request" | "sign_in" | "sign_in_failed" | "sign_out" | "token_refused";
            address: string;
            method: string;
            path: string;
            query: string;
            status: number;
            /** @enum {string|null} */
            stream: "begun" | "complete" | "cut" | null;
            records: number | null;
            sha256: string | null;
            request_id: string;
            /** @description How many refusals of one minute and network this row stands for; it shows the first of them */
            times: number;
        };
        Session: {
            id: string;
            token: {
                id: string;
                name: string;
                /** @enum {string} */
                role: "viewer" | "auditor" | "operator";
            };
            /** @enum {string} */
            state: "live" | "ended" | "expired";
            /** Format: date-time */
            created_at: string;
            /**
             * Format: date-time
             * @description To the minute
             */
            last_seen_at: string;
            /** Format: date-time */
            expires_at: string;
            address: string;
            /** @description The User-Agent of the sign-in */
            agent: string;
            /** Format: date-time */
            ended_at: string | null;
            ended_by: string | null;
        };
        Control: {
            id: string;
            framework: string;
            title: string;
            requires: string;
        };
        LedgerEvent: {
            number: string;
            type: string;
            /** @description The table and the number of the row that it is about */
            subject: string;
            /** Format: date-time */
            recorded_at: string;
            /** @description Its place in the tree; null until it is added */
            leaf_index: string | null;
        };
        Me: {
            id: string;
            name: string;
            /** @enum {string} */
            role: "viewer" | "auditor" | "operator";
            /** @description null: all */
            organizations: string[] | null;
        };
    };
    responses: {
        /** @description Not ready */
        Refusal503: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": {
                    status: string;
                };
            };
        };
        /** @description Invalid limit or cursor */
        Refusal400: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ArchiveError"];
            };
        };
        /** @description The token is missing or invalid */
        Refusal401: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ArchiveError"];
            };
        };
        /** @description It does not exist, or the token cannot see it */
        Refusal404: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ArchiveError"];
            };
        };
        /** @description Too many wrong tokens, or too many requests of this token */
        Refusal429: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["ArchiveError"];
            };
        };
        /** @description The token lacks the required role or organizations */
        Refusal403: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description Its state does not allow this */
        Refusal409: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is too long */
        Refusal413: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The body is not JSON */
        Refusal415: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description The request is valid but cannot be carried out */
        Refusal422: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
        /** @description It failed. With the title May have been done: look whether it was recorded before you send it again */
        Refusal500: {
            headers: {
                [name: string]: unknown;
            };
            content: {
                "application/problem+json": components["schemas"]["Problem"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    getHealthz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Alive */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                    };
                };
            };
        };
    };
    getReadyz: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ready */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        status: string;
                    };
                };
            };
            503: components["responses"]["Refusal503"];
        };
    };
    getApiV2Auth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        account_id: string;
                        auth_method: string;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2UsersMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2UsersMeOrganizations: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        organizations: {
                            [key: string]: unknown;
                        }[];
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2OrganizationsByOrgId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                org_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2Projects: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
                org_id?: string;
                search?: string;
                recoverable?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        projects: {
                            [key: string]: unknown;
                        }[];
                        pagination?: {
                            cursor: string;
                        };
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2ProjectsShared: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        projects: {
                            [key: string]: unknown;
                        }[];
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2ProjectsByProjectId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        project: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2ProjectsByProjectIdOperations: {
        parameters: {
            query?: {
                limit?: number;
                cursor?: string;
            };
            header?: never;
            path: {
                project_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        operations: {
                            [key: string]: unknown;
                        }[];
                        pagination?: {
                            cursor: string;
                        };
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getApiV2ProjectsByProjectIdOperationsByOperationId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                project_id: string;
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The record */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        operation: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
            400: components["responses"]["Refusal400"];
            401: components["responses"]["Refusal401"];
            404: components["responses"]["Refusal404"];
            429: components["responses"]["Refusal429"];
            /** @description The store does not answer in time */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchiveError"];
                };
            };
        };
    };
    getKeys: {
        parameters: {
            query?: {
                organization_id?: string;
                project_id?: string;
                kind?: "personal" | "organization" | "project";
                /** @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone */
                state?: "active" | "missing" | "gone" | "unknown";
                creator_id?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description A rule that matches the key in the newest plan, also with as_of */
                rule?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /** @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong */
                use?: "used" | "never" | "unknown";
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Part of a name */
                q?: string;
                /** @description Shows keys as they were at this past time, according to the listings */
                as_of?: string;
                sort?: "number" | "name" | "created_at" | "last_used_at";
                order?: "asc" | "desc";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All API keys ever observed; with as_of, their states at a past time, and the gaps in that inventory */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["FlaggedKey"][];
                        next_cursor: string | null;
                        as_of?: string;
                        holes?: components["schemas"]["InventoryGap"][];
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsKeys: {
        parameters: {
            query?: {
                organization_id?: string;
                project_id?: string;
                kind?: "personal" | "organization" | "project";
                /** @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone */
                state?: "active" | "missing" | "gone" | "unknown";
                creator_id?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description A rule that matches the key in the newest plan, also with as_of */
                rule?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /** @description unknown: the key may have been used later than last_used_at, because no listing shows it or its record is wrong */
                use?: "used" | "never" | "unknown";
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Part of a name */
                q?: string;
                /** @description Shows keys as they were at this past time, according to the listings */
                as_of?: string;
                format?: "ndjson" | "csv" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Keys as a file; with as_of, their states at a past time. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                    "application/json": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCredentials: {
        parameters: {
            query?: {
                organization_id?: string;
                project_id?: string;
                branch_id?: string;
                /** @description branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts */
                kind?: "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                /** @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone */
                state?: "active" | "missing" | "gone" | "unknown";
                /** @description Who can use the credential */
                holder?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Expires within this time (14d), or has expired */
                expires_within?: string;
                /** @description true: only credentials that expire; false: only those that are known never to expire */
                expires?: "true" | "false";
                /** @description Part of a name */
                q?: string;
                /** @description Shows keys as they were at this past time, according to the listings */
                as_of?: string;
                sort?: "number" | "name" | "created_at" | "last_used_at";
                order?: "asc" | "desc";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description All credentials ever observed that are not API keys; with as_of, those that existed at a past time, and the gaps in that inventory */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Credential"][];
                        next_cursor: string | null;
                        as_of?: string;
                        holes?: components["schemas"]["InventoryGap"][];
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsCredentials: {
        parameters: {
            query?: {
                organization_id?: string;
                project_id?: string;
                branch_id?: string;
                /** @description branch_credential: for the storage, AI gateway and functions of a branch; role: a database role with a password; project_permission: a project shared with an address; project_member: the permissions of a member of the organization in a project; jwks: a key set whose tokens a project trusts */
                kind?: "branch_credential" | "role" | "project_permission" | "project_member" | "jwks";
                /** @description missing: absent from one listing; two absences make it gone. unknown: at that past time it may have been gone */
                state?: "active" | "missing" | "gone" | "unknown";
                /** @description Who can use the credential */
                holder?: string;
                /** @description The owner of the key, as shown in the list */
                owner?: string;
                /** @description Last used longer ago than this (90d), or created longer ago and never used */
                idle_for?: string;
                /** @description Created longer ago than this: 365d */
                older_than?: string;
                /** @description Expires within this time (14d), or has expired */
                expires_within?: string;
                /** @description true: only credentials that expire; false: only those that are known never to expire */
                expires?: "true" | "false";
                /** @description Part of a name */
                q?: string;
                /** @description Shows keys as they were at this past time, according to the listings */
                as_of?: string;
                format?: "ndjson" | "csv" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Credentials that are not API keys as a file; with as_of, those that existed at a past time. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                    "application/json": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getKeysByKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The key's number in Keywarden */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One key */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getKeysByKeyObservations: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The key's number in Keywarden */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A key's history: every version of its record, and when it was missing, gone or back */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["KeyObservation"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getKeysByKeyUses: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The key's number in Keywarden */
                key: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The observed use of a key, newest first, one item per hour and address */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["KeyUse"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCredentialsByCredential: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description The credential's number in Keywarden */
                credential: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One credential */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Credential"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCredentialsByCredentialObservations: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The credential's number in Keywarden */
                credential: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A credential's history: every version of its record, and when it was missing, gone or back */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["KeyObservation"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCredentialsByCredentialUses: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description The credential's number in Keywarden */
                credential: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The observed use of a credential, newest first, one item per hour and address; the control plane reports it for branch credentials only */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["KeyUse"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getFindings: {
        parameters: {
            query?: {
                /** @description Default: the newest plan */
                plan_id?: string;
                rule?: string;
                action?: "report" | "notify" | "rotate" | "revoke";
                disposition?: "planned" | "held" | "reported";
                key_id?: string;
                /** @description The key's number in Keywarden */
                key?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Keys that match rules, with the evidence; from the newest plan unless plan_id names another */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Finding"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsFindings: {
        parameters: {
            query?: {
                /** @description Default: the newest plan */
                plan_id?: string;
                rule?: string;
                action?: "report" | "notify" | "rotate" | "revoke";
                disposition?: "planned" | "held" | "reported";
                key_id?: string;
                /** @description The key's number in Keywarden */
                key?: string;
                format?: "ndjson" | "csv" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Findings of a plan as a file. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                    "application/json": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRevocations: {
        parameters: {
            query?: {
                organization_id?: string;
                /** @description The key's number in Keywarden */
                key?: string;
                plan_id?: string;
                cause?: "plan" | "rotation";
                /** @description gone: no longer there, and not known to be revoked by Keywarden. open: later listings decide the outcome */
                outcome?: "revoked" | "gone" | "not_revoked" | "failed" | "open";
                /** @description At this time or later */
                from?: string;
                /** @description Before this time */
                to?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revocations and attempts, newest first: when, why, who approved, and the outcome */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Revocation"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsRevocations: {
        parameters: {
            query?: {
                organization_id?: string;
                /** @description The key's number in Keywarden */
                key?: string;
                plan_id?: string;
                cause?: "plan" | "rotation";
                /** @description gone: no longer there, and not known to be revoked by Keywarden. open: later listings decide the outcome */
                outcome?: "revoked" | "gone" | "not_revoked" | "failed" | "open";
                /** @description At this time or later */
                from?: string;
                /** @description Before this time */
                to?: string;
                format?: "ndjson" | "csv" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Revocations as a file, with reasons and approvers. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                    "application/json": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getIncidents: {
        parameters: {
            query?: {
                kind?: "used_in_flight" | "breaker" | "high_water_mark" | "rotation_stalled" | "orphan" | "job_failed" | "key_changed" | "configuration" | "listing_doubted" | "signature_broken" | "review_overdue" | "ledger_inconsistent" | "revocation_undone";
                state?: "open" | "closed";
                key?: string;
                /** @description At this time or later */
                from?: string;
                /** @description Before this time */
                to?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Open and closed incidents, which need a person, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Incident"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPlans: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Plans, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Plan"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPlansByPlanId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One plan, with the document that it hashes */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PlanWithDocument"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPlansByPlanIdDecisions: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The approvals and rejections of a plan, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["PlanDecision"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postPlansByPlanIdApprovals: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Approves a plan produced within the last day, so that the daemon carries it out; above second_person_above keys, two people must approve */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postPlansByPlanIdRejections: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description The reason, in words */
                    reason: string;
                };
            };
        };
        responses: {
            /** @description Rejects a plan: earlier approvals no longer count, and revocations of the plan that are under way stop */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postPlansByPlanIdParts: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                plan_id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    organization_id?: string;
                    rule?: string;
                    review_id?: string;
                    keys?: string[];
                };
            };
        };
        responses: {
            /** @description Makes a plan of its own from some keys of the newest plan: of an organization, a rule, a signed review, or chosen ones. It can be approved by its id */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Plan"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExemptions: {
        parameters: {
            query?: {
                state?: "in_force" | "ended" | "lapsed";
                /** @description Exemptions of this key or of another key in its key lineage */
                key?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Exemptions from rules, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Exemption"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postExemptions: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewExemption"];
            };
        };
        responses: {
            /** @description Grants an exemption to existing keys, with an end and a reason; asked again, it returns the one in force */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exemption"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postExemptionsByExemptionEnd: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                exemption: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ends an exemption early */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Exemption"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRotations: {
        parameters: {
            query?: {
                state?: "planned" | "minting" | "minted" | "delivered" | "overlapping" | "adopted" | "retiring" | "retired" | "failed" | "orphaned" | "stalled";
                /** @description true: only open rotations; false: only ended ones */
                open?: "true" | "false";
                /** @description Rotations of this key or of another key in its key lineage */
                key?: string;
                /** @description At this time or later */
                from?: string;
                /** @description Before this time */
                to?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rotations, newest first: the state of each, and its history */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Rotation"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRotationsByRotationId: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                rotation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One rotation */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rotation"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRotationRequests: {
        parameters: {
            query?: {
                key?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Rotation requests made through the report, newest first, with the answers of the daemon */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["RotationRequest"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postRotationRequests: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewRotationRequest"];
            };
        };
        responses: {
            /** @description Requests a rotation of a key; the daemon answers in its next pass */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotationRequest"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReviews: {
        parameters: {
            query?: {
                state?: "open" | "signed";
                campaign_id?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Access reviews, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Review"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postReviews: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewReview"];
            };
        };
        responses: {
            /** @description Opens a review of a frozen snapshot of keys: those that exist now, or existed at as_of */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsReviews: {
        parameters: {
            query?: {
                review?: string;
                format?: "ndjson" | "csv" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys of one access review, or of all, with the decision about each, as a file. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                    "application/json": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReviewsByReview: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                review: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One review and its progress */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReviewsByReviewKeys: {
        parameters: {
            query?: {
                decision?: "keep" | "revoke" | "rotate" | "undecided";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                review: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The frozen keys of a review, with the decision about each, and what a reviewer needs to know of it */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReviewedKeyInContext"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReviewsByReviewDecisions: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                review: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every decision of a review, including replaced ones, oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["ReviewDecision"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postReviewsByReviewDecisions: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                review: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewDecision"];
            };
        };
        responses: {
            /** @description Decides about keys of an open review: keep, revoke or rotate, with a reason; the newest decision counts */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Review"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getReviewsByReviewDocument: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                review: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The canonical JSON of a review; the signature has its SHA-256 */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        review: {
                            [key: string]: unknown;
                        };
                        items: {
                            [key: string]: unknown;
                        }[];
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postReviewsByReviewSignature: {
        parameters: {
            query?: {
                /** @description The SHA-256 of the document that you have read. A review that has changed since is not signed (409) */
                sha256?: string;
            };
            header?: never;
            path: {
                review: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Signs a fully decided review: it can no longer change, and its decisions take effect */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Signature"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCampaigns: {
        parameters: {
            query?: {
                /** @description overdue: the due date has passed, and not every review is signed */
                state?: "open" | "overdue" | "signed" | "canceled";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Review campaigns with their progress, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Campaign"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postCampaigns: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewCampaign"];
            };
        };
        responses: {
            /** @description Opens a campaign: a review for each organization or owner of the chosen keys */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCampaignsByCampaign: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                campaign: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description One campaign and its progress */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postCampaignsByCampaignCancel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                campaign: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cancellation"];
            };
        };
        responses: {
            /** @description Cancels a campaign: no reminders, no default decisions. Its reviews stay, and signed ones stay in effect */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Campaign"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOperations: {
        parameters: {
            query?: {
                project_id?: string;
                branch_id?: string;
                endpoint_id?: string;
                action?: string;
                status?: string;
                /** @description Created at this instant or later */
                from?: string;
                /** @description Created before this instant */
                to?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Operations, newest first, including those that the control plane has pruned */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Operation"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsOperations: {
        parameters: {
            query?: {
                project_id?: string;
                branch_id?: string;
                endpoint_id?: string;
                action?: string;
                status?: string;
                /** @description Created at this instant or later */
                from?: string;
                /** @description Created before this instant */
                to?: string;
                format?: "ndjson" | "csv" | "json";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Operations as a file, newest first. The last line has the count, the SHA-256 of everything before it, and the coverage gaps. A file without it is cut */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv; charset=utf-8": string;
                    "application/json": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProjectsByProjectIdOperationsByOperationIdVersions: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path: {
                project_id: string;
                operation_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Every observed version of an operation, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperationVersion"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOperationsBuckets: {
        parameters: {
            query: {
                project_id?: string;
                branch_id?: string;
                endpoint_id?: string;
                action?: string;
                status?: string;
                from: string;
                to: string;
                size?: "hour" | "day" | "month";
                /** @description Comma-separated fields to group by: action, status, project */
                by?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description How many operations were created in each hour, day or month of UTC, oldest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperationBucket"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOrganizations: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Observed organizations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Organization"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getProjects: {
        parameters: {
            query?: {
                organization_id?: string;
                /** @description missing: absent from one list; two absences make it gone */
                state?: "active" | "missing" | "gone";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Observed projects, including projects that are gone */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Project"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCoverageOperations: {
        parameters: {
            query?: {
                project_id?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description For each project, the times for which the archive has every operation, and the gaps with their reasons */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["OperationCoverage"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCoverageInventory: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The complete key listings of each account and organization, and gaps of more than a day between them */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["InventoryCoverage"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRuns: {
        parameters: {
            query?: {
                kind?: "keys" | "operations" | "credentials";
                connection?: string;
                status?: "running" | "finished" | "failed" | "interrupted";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sync runs, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Run"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getConnections: {
        parameters: {
            query?: {
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Connections to control planes: what each sees, and its blind spots */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Connection"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAccessLog: {
        parameters: {
            query?: {
                token_id?: string;
                event?: "request" | "sign_in" | "sign_in_failed" | "sign_out" | "token_refused";
                /** @description At this time or later */
                from?: string;
                /** @description Before this time */
                to?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The recorded requests: reads, exports, changes and refused tokens, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Access"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSessions: {
        parameters: {
            query?: {
                state?: "live" | "ended" | "expired";
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Sessions of the dashboard, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Session"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postSessionsBySessionEnd: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                session: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Ends a session; its cookie stops working at once */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Session"];
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            500: components["responses"]["Refusal500"];
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEvidenceControls: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The controls that evidence is available for */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["Control"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getEvidence: {
        parameters: {
            query?: {
                /** @description Comma-separated ids from /v1/evidence/controls: pci-dss-4.0.1:7.2.4,soc-2:CC6.1; or the parameter several times. All by default */
                control?: string;
                /** @description A date or a time; by default a year before the end */
                from?: string;
                /** @description The last day, or a time that is not included; by default now */
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Evidence for controls in a period, as a zip archive: requirements, measurements, exceptions and blind spots */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLedgerEvents: {
        parameters: {
            query?: {
                type?: string;
                /** @description The row that it is about: plan_approval/17 */
                subject?: string;
                /** @description A record with everything that belongs to it, such as a plan with its approvals: plan/p-123. Kinds: plan, revocation, rotation, review, campaign, exemption, incident */
                about?: string;
                /** @description Recorded at this instant or later */
                from?: string;
                /** @description Recorded before this instant */
                to?: string;
                /** @description Rows per page */
                limit?: number;
                /** @description The previous page's next_cursor */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of the ledger, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        items: components["schemas"]["LedgerEvent"][];
                        next_cursor: string | null;
                    };
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getLedgerEventsByEventReceipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                event: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The receipt of an event: one file that proves offline that the ledger has it (c2sp.org/tlog-proof) */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsBySha256Receipt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                sha256: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The receipt of a file that this report has exported, by the SHA-256 of its bytes. `keywarden verify FILE RECEIPT` proves that the file is as it was exported */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getExportsSealedOperations: {
        parameters: {
            query: {
                project_id?: string;
                /** @description The first day */
                from: string;
                /** @description The last day */
                to: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The operations of projects and days with the receipts of their seals, as a zip archive that `keywarden verify` checks offline */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/zip": string;
                };
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMe: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The token of this request, its role and its organizations */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Me"];
                };
            };
            /** @description It has not changed since the answer with the ETag in If-None-Match */
            304: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
            /** @description A parameter is unknown or invalid */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The token is missing or invalid */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: components["responses"]["Refusal403"];
            /** @description It does not exist, or the token cannot see it */
            404: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            409: components["responses"]["Refusal409"];
            413: components["responses"]["Refusal413"];
            415: components["responses"]["Refusal415"];
            422: components["responses"]["Refusal422"];
            /** @description Too many wrong tokens from this network, or too many requests or exports of this token */
            429: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            /** @description The store does not answer in time, or the report is busy */
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
