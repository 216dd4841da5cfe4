import { readContract } from '@keywarden/testkit/sandbox/contract';
import { expect, test } from 'vitest';

const contract = readContract();

test('the two client packages of the service differ in the routes that only one of them has', () => {
  expect(contract.onlyIn).toMatchInlineSnapshot(`
    {
      "document": [
        "POST /projects/{project_id}/branches/{branch_id}/recover",
      ],
      "sdk": [
        "DELETE /projects/{project_id}/branches/{branch_id}/custom-domains/{domain}",
        "DELETE /projects/{project_id}/branches/{branch_id}/triggers/{trigger_id}",
        "DELETE /projects/{project_id}/members/{member_id}/role",
        "GET /projects/{project_id}/branches/{branch_id}/custom-domains",
        "GET /projects/{project_id}/branches/{branch_id}/logs/fields",
        "GET /projects/{project_id}/branches/{branch_id}/logs/fields/{field_name}/values",
        "GET /projects/{project_id}/branches/{branch_id}/triggers",
        "GET /projects/{project_id}/branches/{branch_id}/triggers/{trigger_id}",
        "GET /projects/{project_id}/members",
        "PATCH /projects/{project_id}/branches/{branch_id}/triggers/{trigger_id}",
        "POST /projects/{project_id}/branches/{branch_id}/auth/email_provider/test",
        "POST /projects/{project_id}/branches/{branch_id}/credentials/{token_id}/reveal",
        "POST /projects/{project_id}/branches/{branch_id}/credentials/{token_id}/rotate",
        "POST /projects/{project_id}/branches/{branch_id}/custom-domains",
        "POST /projects/{project_id}/branches/{branch_id}/logs/query",
        "POST /projects/{project_id}/branches/{branch_id}/triggers",
        "PUT /projects/{project_id}/members/{member_id}/role",
      ],
    }
  `);
});

test('the contract check finds faults: a field of another type, a status that is not documented', () => {
  expect(contract.findFault('GET /auth', 200, { account_id: 1, auth_method: 'api_key_user' })).toMatch(
    /account_id must be string/,
  );
  expect(contract.findFault('GET /auth', 201, {})).toMatch(/201 is not declared/);
});
