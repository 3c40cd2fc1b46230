// Tests which scopes count as granted, given the scopes that a service reports.
import { describe, expect, it } from 'vitest';
import { findConnector } from './catalogue.ts';
import { listMissingScopes } from './scopes.ts';

const missing = (type: string, requested: string[], granted: string[]) => {
  const connector = findConnector(type);
  if (connector === undefined) throw new Error('not in the catalogue');
  return listMissingScopes(connector, requested, granted);
};

describe('a scope', () => {
  it.each([
    ['discord', ['identify', 'email'], ['identify'], ['email']],
    ['linkedin', ['openid', 'profile', 'email'], ['openid'], ['profile', 'email']],
    ['gmail', ['https://mail.google.com/'], ['https://www.google.com/m8/feeds/'], ['https://mail.google.com/']],
    ['slack', ['chat:write'], ['Chat:Write'], ['chat:write']],
    ['github', ['repo'], ['public_repo'], ['repo']],
    ['github', ['repo'], ['constructor'], ['repo']],
  ])('of %s is missing if the service reports another: %j, %j', (type, requested, granted, expected) => {
    expect(missing(type, requested, granted)).toEqual(expected);
  });

  it.each([
    ['jira', ['read:jira-work', 'offline_access'], ['read:jira-work']],
    ['salesforce', ['api', 'refresh_token'], ['api']],
    ['outlook', ['openid', 'https://graph.microsoft.com/Mail.Read'], ['Mail.Read']],
    ['outlook', ['Mail.Read'], ['https://graph.microsoft.com/Mail.Read']],
    ['github', ['read:user', 'user', 'public_repo', 'repo'], ['repo', 'user']],
    ['gmail', ['email'], ['https://www.googleapis.com/auth/userinfo.email']],
  ])('of %s is granted if the service reports it in its own words: %j, %j', (type, requested, granted) => {
    expect(missing(type, requested, granted)).toEqual([]);
  });
});
