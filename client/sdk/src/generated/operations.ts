// Written by `npm run describe` from the OpenAPI document. Do not edit.
import type { Call, CallOptions, Formats, PagedCall, StreamedCall } from '../call.ts';
import type * as codes from './codes.ts';
import type * as schemas from './schemas.ts';

export type GetSetupCodes = codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SetUpArgs {
  /** The token that the API prints to its log at startup, or the setting `PLINTH_SETUP_TOKEN`. */
  setup_token: schemas.SetUpBody['setup_token'];
  /** The e-mail address of the first user, who becomes an operator; the address counts as verified. */
  email: schemas.SetUpBody['email'];
  /** The name of the user. */
  full_name: schemas.SetUpBody['full_name'];
  /** The password: 12 to 256 characters, not one of the 10,000 most common. */
  password: schemas.SetUpBody['password'];
  /** The name of the workspace. */
  workspace_name: schemas.SetUpBody['workspace_name'];
}

export type SetUpCodes = codes.Unauthenticated_c0c722 | codes.Forbidden_origin_not_allowed | codes.Conflict_already_initialised | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SignInArgs {
  /** The e-mail address of the account. */
  email: schemas.SignInBody['email'];
  /** The password of the account. */
  password: schemas.SignInBody['password'];
}

export type SignInCodes = codes.Unauthenticated_cc8a6a | codes.Forbidden_origin_not_allowed | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type SignOutCodes = codes.Unauthenticated | codes.Forbidden_0b559f | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ForgotPasswordArgs {
  /** The e-mail address of the account; the response is the same whether or not an account has it. */
  email: schemas.ForgotPasswordBody['email'];
}

export type ForgotPasswordCodes = codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ResetPasswordArgs {
  /** The token of the reset link, which is the part after `#`; it works once, for one hour. */
  reset_token: schemas.ResetPasswordBody['reset_token'];
  /** The new password: 12 to 256 characters, not one of the 10,000 most common. */
  new_password: schemas.ResetPasswordBody['new_password'];
}

export type ResetPasswordCodes = codes.Forbidden_origin_not_allowed | codes.Gone_reset_link_expired | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type GetMeCodes = codes.Unauthenticated | codes.Forbidden_66d5be | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateMeArgs {
  /** The name of the user. */
  full_name?: schemas.UpdateMeBody['full_name'];
}

export type UpdateMeCodes = codes.Unauthenticated | codes.Forbidden_0b559f | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ChangePasswordArgs {
  /** The current password of the user. */
  current_password: schemas.ChangePasswordBody['current_password'];
  /** The new password: 12 to 256 characters, not one of the 10,000 most common. */
  new_password: schemas.ChangePasswordBody['new_password'];
}

export type ChangePasswordCodes = codes.Unauthenticated_sign_in_failed | codes.Forbidden_0b559f | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type ListBrowserSessionsCodes = codes.Unauthenticated | codes.Forbidden_98b36e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type EndOtherBrowserSessionsCodes = codes.Unauthenticated | codes.Forbidden_0b559f | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface EndBrowserSessionArgs {
  /** The id of the session. */
  session_id: string;
}

export type EndBrowserSessionCodes = codes.Unauthenticated | codes.Forbidden_0b559f | codes.NotFound_session_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListTokensArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListTokensCodes = codes.Unauthenticated | codes.Forbidden_b790c8 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateTokenArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the token, for people to recognise it. */
  name: schemas.CreateTokenBody['name'];
  /** What the token may do; `read_only` by default. */
  permission?: schemas.CreateTokenBody['permission'];
  /** Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, including later ones. */
  app_ids?: schemas.CreateTokenBody['app_ids'];
  /** The number of days after which the token expires, 90 by default; null means never. */
  expires_in_days?: schemas.CreateTokenBody['expires_in_days'];
}

export type CreateTokenCodes = codes.Unauthenticated | codes.Forbidden_c2ea80 | codes.NotFound_4d908f | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateTokenArgs {
  /** The id of the token. */
  token_id: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the token, for people to recognise it. */
  name: schemas.UpdateTokenBody['name'];
}

export type UpdateTokenCodes = codes.Unauthenticated | codes.Forbidden_5e0760 | codes.NotFound_70a161 | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RevokeTokenArgs {
  /** The id of the token. */
  token_id: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type RevokeTokenCodes = codes.Unauthenticated | codes.Forbidden_5e0760 | codes.NotFound_70a161 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type ListApiKeysCodes = codes.Unauthenticated | codes.Forbidden_98b36e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RevokeApiKeyArgs {
  /** The id of the personal API key. */
  key_id: string;
}

export type RevokeApiKeyCodes = codes.Unauthenticated | codes.Forbidden_3d4556 | codes.NotFound_key_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListWorkspaceTokensArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListWorkspaceTokensCodes = codes.Unauthenticated | codes.Forbidden_3a6d4c | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RevokeWorkspaceTokenArgs {
  /** The id of the token. */
  token_id: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type RevokeWorkspaceTokenCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_70a161 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListWorkspaceKeysArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListWorkspaceKeysCodes = codes.Unauthenticated | codes.Forbidden_3a6d4c | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateWorkspaceKeyArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the key, for people to recognise it. */
  name: schemas.CreateWorkspaceKeyBody['name'];
  /** What the key is for; empty if no description was given. */
  description?: schemas.CreateWorkspaceKeyBody['description'];
  /** What the key may do; an operation that requires a scope refuses keys without it. */
  scopes: schemas.CreateWorkspaceKeyBody['scopes'];
  /** Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, including later ones. */
  app_ids?: schemas.CreateWorkspaceKeyBody['app_ids'];
  /** The number of days after which the key expires; null means never. By default, it expires with the token that creates it, if any. */
  expires_in_days?: schemas.CreateWorkspaceKeyBody['expires_in_days'];
}

export type CreateWorkspaceKeyCodes = codes.Unauthenticated | codes.Forbidden_5b9b1b | codes.NotFound_4d908f | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateWorkspaceKeyArgs {
  /** The id of the workspace key. */
  key_id: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the key, for people to recognise it. */
  name?: schemas.UpdateWorkspaceKeyBody['name'];
  /** What the key is for; empty if no description was given. */
  description?: schemas.UpdateWorkspaceKeyBody['description'];
}

export type UpdateWorkspaceKeyCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_db4f41 | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RevokeWorkspaceKeyArgs {
  /** The id of the workspace key. */
  key_id: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type RevokeWorkspaceKeyCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_db4f41 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface StartDeviceLoginArgs {
  /** The name of the program, as the person will see it. */
  client_name: schemas.StartDeviceLoginBody['client_name'];
  /** What the program asks to do; `read_only` by default. */
  permission?: schemas.StartDeviceLoginBody['permission'];
  /** The only apps and agents that the program asks for; null or not sent means all. */
  app_ids?: schemas.StartDeviceLoginBody['app_ids'];
}

export type StartDeviceLoginCodes = codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface PollDeviceLoginArgs {
  /** The `device_code` of the login. */
  device_code: schemas.PollDeviceLoginBody['device_code'];
}

export type PollDeviceLoginCodes = codes.Forbidden_device_login_denied | codes.NotFound_app_not_found | codes.Conflict_2a8403 | codes.Gone_device_login_expired | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetDeviceLoginArgs {
  /** The code that the program shows, with or without the hyphen. */
  user_code: string;
}

export type GetDeviceLoginCodes = codes.Unauthenticated | codes.Forbidden_98b36e | codes.NotFound_device_login_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface AnswerDeviceLoginArgs {
  /** The code that the program shows, with or without the hyphen. */
  user_code: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** Whether the program gets a token. */
  approve: schemas.AnswerDeviceLoginBody['approve'];
  /** What the token may do, at most what the program asked for, which is the default. */
  permission?: schemas.AnswerDeviceLoginBody['permission'];
  /** Limits the token to these apps and agents, which the program must have asked for; by default all that it asked for. */
  app_ids?: schemas.AnswerDeviceLoginBody['app_ids'];
  /** The number of days after which the token expires; 90 by default. */
  expires_in_days?: schemas.AnswerDeviceLoginBody['expires_in_days'];
}

export type AnswerDeviceLoginCodes = codes.Unauthenticated | codes.Forbidden_90e4af | codes.NotFound_c97df3 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListOperatorUsersArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only the user with this e-mail address. */
  email?: string;
}

export type ListOperatorUsersCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_ea9657 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeactivateUserArgs {
  /** The id of the user who has the account. */
  user_id: string;
}

export type DeactivateUserCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_user_not_found | codes.Conflict_last_operator | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ReactivateUserArgs {
  /** The id of the user who has the account. */
  user_id: string;
}

export type ReactivateUserCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_user_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type ListWorkspacesCodes = codes.Unauthenticated | codes.Forbidden_66d5be | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateWorkspaceArgs {
  /** The name of the workspace. */
  name: schemas.CreateWorkspaceBody['name'];
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code?: schemas.CreateWorkspaceBody['country_code'];
}

export type CreateWorkspaceCodes = codes.Unauthenticated | codes.Forbidden_cdc9b7 | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetWorkspaceArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type GetWorkspaceCodes = codes.Unauthenticated | codes.Forbidden_adbbf0 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateWorkspaceArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the workspace. */
  name?: schemas.UpdateWorkspaceBody['name'];
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code?: schemas.UpdateWorkspaceBody['country_code'];
  /** The language of the workspace as a BCP 47 tag; `en` by default. */
  locale?: schemas.UpdateWorkspaceBody['locale'];
  /** Who may invite guests by sharing an app; `app_owners` by default. */
  guest_invitations?: schemas.UpdateWorkspaceBody['guest_invitations'];
}

export type UpdateWorkspaceCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteWorkspaceArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The exact name of the workspace, to confirm the deletion. */
  confirm_name: schemas.DeleteWorkspaceBody['confirm_name'];
}

export type DeleteWorkspaceCodes = codes.Unauthenticated | codes.Forbidden_bfb11e | codes.NotFound_workspace_not_found | codes.Conflict_ad_platform_timeout | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface StartExportArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type StartExportCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_323e5c | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetExportArgs {
  /** The id of the export; if it has expired, the response is 404. */
  export_id: string;
  /** Whether to return the archive of a finished export instead of its state; false by default. */
  download?: boolean;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type GetExportCodes = codes.Unauthenticated | codes.Forbidden_f7fb70 | codes.NotFound_26cfe4 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type ListPlansCodes = codes.Unauthenticated | codes.Forbidden_15dac2 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListOperatorWorkspacesArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListOperatorWorkspacesCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_ea9657 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetOperatorWorkspaceArgs {
  /** The id of the workspace. */
  workspace_id: string;
  /** The new plan, which also sets `monthly_limit` to the credits of the plan unless `monthly_limit` is sent. */
  plan?: schemas.SetOperatorWorkspaceBody['plan'];
  /** The credits of the workspace per month, effective immediately; null means unlimited. If only `plan` is sent, the credits of the plan apply. */
  monthly_limit?: schemas.SetOperatorWorkspaceBody['monthly_limit'];
  /** The factor for the rate limits of the workspace; null means the factor of the plan. */
  rate_multiplier?: schemas.SetOperatorWorkspaceBody['rate_multiplier'];
  /** The storage quota of the workspace in bytes; null means the quota of the plan. */
  storage_quota_bytes?: schemas.SetOperatorWorkspaceBody['storage_quota_bytes'];
  /** The switches to change; those that are not sent keep their value. */
  features?: schemas.SetOperatorWorkspaceBody['features'];
  /** Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns. */
  billing_hold?: schemas.SetOperatorWorkspaceBody['billing_hold'];
  /** Why the workspace is on billing hold, as an operator noted it; null if there is no note. */
  billing_hold_reason?: schemas.SetOperatorWorkspaceBody['billing_hold_reason'];
}

export type SetOperatorWorkspaceCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GrantCreditsArgs {
  /** The id of the workspace. */
  workspace_id: string;
  /** The credits to grant for the current month, with up to 4 decimals; a negative amount takes credits back, and 0 is refused. */
  amount: schemas.GrantCreditsBody['amount'];
  /** Why the credits are granted or taken back, as shown in the ledger. */
  note: schemas.GrantCreditsBody['note'];
}

export type GrantCreditsCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAppsArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** The field to sort by; a leading `-` reverses the order. */
  sort?: 'updated_date' | '-updated_date' | 'created_date' | '-created_date' | 'name' | '-name';
  /** Only apps in this folder. */
  folder_id?: string;
  /** Text that must be part of the name, regardless of case. */
  search?: string;
  /** Whether to list the contents of the trash instead; false by default. */
  deleted?: boolean;
  /** The types of apps to list, separated by commas: `user_app`, `user_agent`, `imported_app`. */
  app_type?: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListAppsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_e418fd | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateAppArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the app; `Untitled app` by default. */
  name?: schemas.CreateAppBody['name'];
  /** What the app is for, in the words of its builders; empty by default. */
  user_description?: schemas.CreateAppBody['user_description'];
  /** The kind of app, `user_app` by default; it can't be changed later. */
  app_type?: schemas.CreateAppBody['app_type'];
  /** Who in the workspace can see the app: all members but guests, or only the owner, admins and people it is shared with. */
  visibility?: schemas.CreateAppBody['visibility'];
  /** Who can use the app; only `public_without_login` allows access to its data without a credential. */
  public_settings?: schemas.CreateAppBody['public_settings'];
  /** A first message to the assistant, which builds the app in the background. */
  initial_message?: schemas.CreateAppBody['initial_message'];
}

export type CreateAppCodes = codes.BadRequest_app_kind_mismatch | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_da2c9d | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAppArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetAppCodes = codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateAppArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the app; white space at the ends is removed. */
  name?: schemas.UpdateAppBody['name'];
  /** A name for URLs in lowercase letters, digits and hyphens, unique in the installation. Other apps can use an abandoned slug after 31 days. */
  slug?: schemas.UpdateAppBody['slug'];
  /** What the app is for, in the words of its builders. */
  user_description?: schemas.UpdateAppBody['user_description'];
  /** The https URL of the logo; null removes it. */
  logo_url?: schemas.UpdateAppBody['logo_url'];
  /** Who in the workspace can see the app: all members but guests, or only the owner, admins and people it is shared with. */
  visibility?: schemas.UpdateAppBody['visibility'];
  /** Who can use the app; only `public_without_login` allows access to its data without a credential. */
  public_settings?: schemas.UpdateAppBody['public_settings'];
  /** The origins whose web pages can access the data of the app, at most 10. */
  public_origins?: schemas.UpdateAppBody['public_origins'];
  /** Whether records of the app leave out `created_by`. */
  hide_authorship?: schemas.UpdateAppBody['hide_authorship'];
  /** Transfers the app to the member with this e-mail address, who must not be a viewer or guest. Only the app's owner can do this. */
  owner_email?: schemas.UpdateAppBody['owner_email'];
}

export type UpdateAppCodes = codes.BadRequest_role_not_assignable | codes.Unauthenticated | codes.Forbidden_dabfde | codes.NotFound_91417f | codes.Conflict_slug_taken | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAppArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type DeleteAppCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_ad_platform_timeout | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RestoreAppArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type RestoreAppCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListAppSharesArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type ListAppSharesCodes = codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface PutAppShareArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The e-mail address of the person with whom the app is shared, percent-encoded. */
  email: string;
  /** The role of the person in the app. */
  role: schemas.PutAppShareBody['role'];
}

export type PutAppShareCodes = codes.BadRequest_role_not_assignable | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAppShareArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The e-mail address of the person with whom the app is shared, percent-encoded. */
  email: string;
}

export type DeleteAppShareCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_68c511 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListAppFilesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only files whose path begins with this text. */
  prefix?: string;
  /** A kept revision whose files are read; by default the current one. */
  revision?: number;
}

export type ListAppFilesCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_2d4718 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SyncAppFilesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The files to write; a path must not be repeated. */
  files: schemas.SyncAppFilesBody['files'];
  /** The paths of the files to delete; those that do not exist are left out. */
  delete?: schemas.SyncAppFilesBody['delete'];
  /** Whether to delete every file of the app that was not sent; false by default. */
  delete_missing?: schemas.SyncAppFilesBody['delete_missing'];
  /** The revision of the app that you last read. If it is no longer the current one, the request fails with 409. */
  expected_revision?: schemas.SyncAppFilesBody['expected_revision'];
}

export type SyncAppFilesCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_dabfde | codes.NotFound_app_not_found | codes.Conflict_1546cb | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAppFileArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The path of the file in the app, relative and without `.` and `..` segments. */
  path: string;
  /** A kept revision whose files are read; by default the current one. */
  revision?: number;
}

export type GetAppFileCodes = codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_74cc04 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface PutAppFileArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The path of the file in the app, relative and without `.` and `..` segments. */
  path: string;
  /** The content of the file, as text or as base64 according to `encoding`; at most 5 MiB. */
  content: schemas.PutAppFileBody['content'];
  /** How `content` is written: as text (`utf-8`, the default) or as base64. */
  encoding?: schemas.PutAppFileBody['encoding'];
  /** The `sha256` that you last read; null if the file must not exist yet. */
  expected_sha256?: schemas.PutAppFileBody['expected_sha256'];
}

export type PutAppFileCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_dabfde | codes.NotFound_app_not_found | codes.Conflict_1546cb | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAppFileArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The path of the file in the app, relative and without `.` and `..` segments. */
  path: string;
}

export type DeleteAppFileCodes = codes.Unauthenticated | codes.Forbidden_dabfde | codes.NotFound_edcc6f | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DownloadAppFilesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** A kept revision whose files are read; by default the current one. */
  revision?: number;
}

export type DownloadAppFilesCodes = codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_2d4718 | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListRevisionsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListRevisionsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetRevisionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The number of a revision whose contents are kept. */
  revision: string;
  /** The revision to compare with, older or newer; by default the one before. */
  against?: number;
}

export type GetRevisionCodes = codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_2d4718 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RestoreRevisionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The number of a revision whose contents are kept. */
  revision: string;
  /** What to restore: everything unless it is named. */
  parts?: schemas.RestoreRevisionBody['parts'];
  /** Whether only to say what would change; false by default. */
  dry_run?: schemas.RestoreRevisionBody['dry_run'];
  /** The revision of the app that you last read. If it is no longer the current one, the request fails with 409. */
  expected_revision?: schemas.RestoreRevisionBody['expected_revision'];
  /** What you agree to open: the entities and operations of `impact.newly_open` of a dry run. Otherwise, the request fails with 409. */
  opens?: schemas.RestoreRevisionBody['opens'];
}

export type RestoreRevisionCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_2d4718 | codes.Conflict_8f1a6f | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAppSecretsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListAppSecretsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface PutAppSecretArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the secret: a capital letter, then up to 63 capital letters, digits and underscores. */
  secret_name: string;
  /** The value of the secret, which no operation returns; it is encrypted at rest. */
  value: schemas.PutAppSecretBody['value'];
}

export type PutAppSecretCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_limit_reached | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAppSecretArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the secret: a capital letter, then up to 63 capital letters, digits and underscores. */
  secret_name: string;
}

export type DeleteAppSecretCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_cba940 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SendChatMessageArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** What the assistant should build or change. */
  content: schemas.SendChatMessageBody['content'];
  /** Up to 10 public https addresses. The model gets them as text; they are not fetched. */
  file_urls?: schemas.SendChatMessageBody['file_urls'];
}

export type SendChatMessageCodes = codes.BadRequest_app_kind_mismatch | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_d7636d | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | codes.Timeout_reply_timeout | 'validation' | codes.OfEveryOperation;

export type SendChatMessageEvent =
  | { event: 'message.created'; data: schemas.ChatMessage; id: string | undefined }
  | { event: 'message.delta'; data: schemas.TextDelta; id: string | undefined }
  | { event: 'tool_call'; data: schemas.AgentToolCall; id: string | undefined }
  | { event: 'message.reset'; data: schemas.NoData; id: string | undefined }
  | { event: 'message.completed'; data: schemas.ChatMessage; id: string | undefined }
  | { event: 'turn.completed'; data: schemas.ChatTurn; id: string | undefined };

export interface FollowChatArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type FollowChatCodes = codes.BadRequest_app_kind_mismatch | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_app_not_found | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type FollowChatEvent =
  | { event: 'app.changed'; data: schemas.AppRevision; id: string | undefined }
  | { event: 'turn.started'; data: schemas.ChatTurnStarted; id: string | undefined }
  | { event: 'message.created'; data: schemas.ChatMessage; id: string | undefined }
  | { event: 'message.delta'; data: schemas.TextDelta; id: string | undefined }
  | { event: 'tool_call'; data: schemas.AgentToolCall; id: string | undefined }
  | { event: 'message.reset'; data: schemas.NoData; id: string | undefined }
  | { event: 'message.completed'; data: schemas.ChatMessage; id: string | undefined }
  | { event: 'turn.completed'; data: schemas.ChatTurn; id: string | undefined };

export interface GetChatArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type GetChatCodes = codes.BadRequest_52f0bb | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface StopChatArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type StopChatCodes = codes.BadRequest_app_kind_mismatch | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface AnswerHeldRulesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The `id` of a rule in `held_rules` of getChat. */
  held_id: string;
  /** False drops the proposal. */
  apply: schemas.AnswerHeldRulesBody['apply'];
}

export type AnswerHeldRulesCodes = codes.BadRequest_app_kind_mismatch | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_eb4b5d | codes.Conflict_held_rules_outdated | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface PublishAppArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of an earlier deployment to make live again. If omitted, the current files are published. */
  deployment_id?: schemas.PublishAppBody['deployment_id'];
}

export type PublishAppCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_dabfde | codes.NotFound_3cbdbd | codes.Conflict_e27ca2 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UnpublishAppArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type UnpublishAppCodes = codes.Unauthenticated | codes.Forbidden_dabfde | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListDeploymentsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListDeploymentsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetSecuritySettingsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetSecuritySettingsCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SetSecuritySettingsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** Whether a security scan reads the code for `static_code_findings`. */
  static_code_enabled?: schemas.SetSecuritySettingsBody['static_code_enabled'];
  /** The headers to change. A header that is set to null is no longer sent. */
  headers?: schemas.SetSecuritySettingsBody['headers'];
}

export type SetSecuritySettingsCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreatePreviewArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The revision to show, which must be kept. If omitted, the preview follows the app, and always shows its present revision. */
  revision?: schemas.CreatePreviewBody['revision'];
  /** The id of the user of the app as whom the preview is signed in for an hour. If omitted, nobody is signed in. */
  app_user_id?: schemas.CreatePreviewBody['app_user_id'];
}

export type CreatePreviewCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_4f25f1 | codes.Conflict_666c31 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeletePreviewArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the preview. */
  preview_id: string;
}

export type DeletePreviewCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_38fa39 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetSecurityScanArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetSecurityScanCodes = codes.Unauthenticated | codes.Forbidden_347ac8 | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RunSecurityScanArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The language of the summary; English by default. */
  language?: 'en' | 'ja' | 'de' | 'es' | 'fr' | 'pt';
}

export type RunSecurityScanCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_dabfde | codes.NotFound_app_not_found | codes.Conflict_0d1a99 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface IgnoreFindingArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The `fingerprint` of a finding. */
  fingerprint: schemas.IgnoreFindingBody['fingerprint'];
  /** The type of the finding. */
  finding_type?: schemas.IgnoreFindingBody['finding_type'];
  /** The file of the finding, as a note for people. */
  file_path?: schemas.IgnoreFindingBody['file_path'];
  /** The title of the finding, as a note for people. */
  title?: schemas.IgnoreFindingBody['title'];
  /** Why the finding is ignored. */
  reason?: schemas.IgnoreFindingBody['reason'];
}

export type IgnoreFindingCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_limit_reached | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RestoreFindingArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The `fingerprint` of a finding. */
  fingerprint: string;
}

export type RestoreFindingCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface FixRlsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The names of the entities whose rules are to be replaced. */
  entity_names: schemas.FixRlsBody['entity_names'];
}

export type FixRlsCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DismissHeaderArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The `flag` of a recommendation. */
  flag: string;
}

export type DismissHeaderCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListFlowsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type ListFlowsCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateFlowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the test. */
  name: schemas.CreateFlowBody['name'];
  /** What the agent does in the app, and what must be visible afterwards. */
  goal: schemas.CreateFlowBody['goal'];
  /** The role of the temporary app user; by default, the role that the name or the goal mentions, or else `user`. */
  role?: schemas.CreateFlowBody['role'];
}

export type CreateFlowCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetFlowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test. */
  flow_id: string;
}

export type GetFlowCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_b35b44 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateFlowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test. */
  flow_id: string;
  /** The name of the test. */
  name?: schemas.UpdateFlowBody['name'];
  /** What the agent does in the app, and what must be visible afterwards. */
  goal?: schemas.UpdateFlowBody['goal'];
  /** The role of the temporary app user; if null, the goal decides at each run. */
  role?: schemas.UpdateFlowBody['role'];
}

export type UpdateFlowCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_b35b44 | codes.Conflict_9ebc93 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteFlowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test. */
  flow_id: string;
}

export type DeleteFlowCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_b35b44 | codes.RateLimited | codes.InternalError | codes.Unavailable_browser_unavailable | codes.OfEveryOperation;

export interface GenerateFlowsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GenerateFlowsCodes = codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_323e5c | codes.RateLimited | codes.InternalError | codes.Unavailable_model_unavailable | 'validation' | codes.OfEveryOperation;

export interface StartExecutionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test. */
  flow_id: schemas.StartExecutionBody['flow_id'];
  /** The address in the published app at which the run starts; by default, the first page. */
  url?: schemas.StartExecutionBody['url'];
}

export type StartExecutionCodes = codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_4fb691 | codes.NotFound_b35b44 | codes.Conflict_64700d | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_0153a4 | 'validation' | codes.OfEveryOperation;

export interface ListExecutionsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** The id of the test. */
  flow_id?: string;
}

export type ListExecutionsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface LatestExecutionsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type LatestExecutionsCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetExecutionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test run. */
  execution_id: string;
}

export type GetExecutionCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_fde39e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CancelExecutionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test run. */
  execution_id: string;
}

export type CancelExecutionCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_fde39e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetTestReportArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test run. */
  execution_id: string;
}

export type GetTestReportCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_48e8cb | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetTestEvidenceArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the test run. */
  execution_id: string;
  /** The file name of the screenshot or trace. */
  file: string;
  /** When the address expires, in seconds since 1970. */
  expires?: string;
  /** The signature, which proves that Plinth made the address. */
  signature?: string;
}

export type GetTestEvidenceCodes = codes.NotFound_report_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetRepositoryArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetRepositoryCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_7eb69e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ConnectRepositoryArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The repository, as `owner/name`. */
  repository_full_name: schemas.ConnectRepositoryBody['repository_full_name'];
  /** The branch that new branches start from and pull requests are opened against; if omitted, the default branch. */
  base_branch?: schemas.ConnectRepositoryBody['base_branch'];
  /** The credential for the git host. If omitted, the operator's App is used, if there is one. */
  credentials?: schemas.ConnectRepositoryBody['credentials'];
}

export type ConnectRepositoryCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_4294a7 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_git_host_unavailable | 'validation' | codes.OfEveryOperation;

export interface DisconnectRepositoryArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type DisconnectRepositoryCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_7eb69e | codes.Conflict_session_busy | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface LaunchSessionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The task that the agent carries out. */
  prompt: schemas.LaunchSessionBody['prompt'];
  /** The title of the pull request. */
  title: schemas.LaunchSessionBody['title'];
  /** A branch to work on. If null, a new branch is created. It can't be the base branch, the default branch or a protected branch. */
  existing_branch?: schemas.LaunchSessionBody['existing_branch'];
  /** The git ref that the new branch starts from; if null, the base branch. Ignored if `existing_branch` is set. */
  source_ref?: schemas.LaunchSessionBody['source_ref'];
  /** Markdown to append to the description of the pull request. */
  pull_request_body?: schemas.LaunchSessionBody['pull_request_body'];
  /** The commit message. If null, it is made from the title and the summary. */
  commit_message?: schemas.LaunchSessionBody['commit_message'];
  /** A label of your choice, by which you can list sessions. */
  client_reference?: schemas.LaunchSessionBody['client_reference'];
  /** The repository that the app must be connected to; if it isn't, the launch is refused. */
  expected_repository_full_name?: schemas.LaunchSessionBody['expected_repository_full_name'];
}

export type LaunchSessionCodes = codes.BadRequest_9d83d2 | codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_4fb691 | codes.NotFound_7eb69e | codes.Conflict_e9bf79 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_1e66d4 | 'validation' | codes.OfEveryOperation;

export interface ListSessionsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only sessions in this state. */
  state?: 'queued' | 'running' | 'opening_pull_request' | 'needs_input' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
  /** Only sessions with this label. */
  client_reference?: string;
}

export type ListSessionsCodes = codes.BadRequest_e9f5ab | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetSessionByKeyArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The `Idempotency-Key` of the launch. */
  launch_key: string;
}

export type GetSessionByKeyCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_d20f54 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetSessionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the session. */
  session_id: string;
}

export type GetSessionCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_d20f54 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CancelSessionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the session. */
  session_id: string;
}

export type CancelSessionCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_d20f54 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetInputRequestArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the session. */
  session_id: string;
}

export type GetInputRequestCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_d20f54 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SendSessionMessageArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the session. */
  session_id: string;
  /** A message to the agent. */
  text?: schemas.SendSessionMessageBody['text'];
  /** The answers, one for each question. */
  answers?: schemas.SendSessionMessageBody['answers'];
  /** Whether you approve the action. If false, the agent continues without it. */
  approve?: schemas.SendSessionMessageBody['approve'];
  /** The id of the question or approval that you answer; required with `answers` and `approve`. */
  input_request_id?: schemas.SendSessionMessageBody['input_request_id'];
  /** The person on whose behalf you write, for the record. */
  author?: schemas.SendSessionMessageBody['author'];
}

export type SendSessionMessageCodes = codes.BadRequest_9d83d2 | codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_22d909 | codes.NotFound_f311db | codes.Conflict_ecae15 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetSessionMessageArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the session. */
  session_id: string;
  /** The id of the message. */
  input_id: string;
}

export type GetSessionMessageCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_96588b | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface StreamSessionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the session. */
  session_id: string;
}

export type StreamSessionCodes = codes.BadRequest_not_an_imported_app | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_d20f54 | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type StreamSessionEvent =
  | { event: 'state'; data: schemas.CodingSession; id: string | undefined }
  | { event: 'input_request'; data: schemas.InputRequest; id: string | undefined }
  | { event: 'log'; data: schemas.SessionLogLine; id: string | undefined };

export interface ListAppUsersArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Text that the e-mail address or the name must contain. */
  search?: string;
}

export type ListAppUsersCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_4f82cd | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateAppUserArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The e-mail address of the user, which must be unique in the app regardless of case. */
  email: schemas.CreateAppUserBody['email'];
  /** The name of the user; empty by default. */
  full_name?: schemas.CreateAppUserBody['full_name'];
  /** The role of the user, `user` by default, which matters only in the rules of the app. */
  role?: schemas.CreateAppUserBody['role'];
  /** Any attributes of the user, for use in the rules of the app; at most 16 KiB as JSON. */
  data?: schemas.CreateAppUserBody['data'];
}

export type CreateAppUserCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_e876be | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateAppUserArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the user of the app. */
  user_id: string;
  /** The e-mail address of the user, which must be unique in the app regardless of case. */
  email?: schemas.UpdateAppUserBody['email'];
  /** The name of the user; empty by default. */
  full_name?: schemas.UpdateAppUserBody['full_name'];
  /** The role of the user, `user` by default, which matters only in the rules of the app. */
  role?: schemas.UpdateAppUserBody['role'];
  /** Attributes to merge into the stored ones, key by key; null removes a key, and the result has at most 16 KiB. */
  data?: schemas.UpdateAppUserBody['data'];
}

export type UpdateAppUserCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_c849de | codes.Conflict_e876be | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAppUserArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the user of the app. */
  user_id: string;
}

export type DeleteAppUserCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_c849de | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateAppUserTokenArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the user of the app. */
  user_id: string;
  /** How many seconds the token is valid; 3600 by default. */
  expires_in_seconds?: schemas.CreateAppUserTokenBody['expires_in_seconds'];
}

export type CreateAppUserTokenCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_c849de | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SignInAppUserArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The e-mail address of the user. */
  email: schemas.SignInAppUserBody['email'];
  /** The password of the user. */
  password: schemas.SignInAppUserBody['password'];
  /** How many seconds the token is valid; 3600 by default. */
  expires_in_seconds?: schemas.SignInAppUserBody['expires_in_seconds'];
}

export type SignInAppUserCodes = codes.Unauthenticated_cc8a6a | codes.Forbidden_origin_not_allowed | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SignUpAppUserArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The e-mail address of the user, to which the link is sent. */
  email: schemas.SignUpAppUserBody['email'];
  /** The name of the user; empty by default. */
  full_name?: schemas.SignUpAppUserBody['full_name'];
  /** The password with which the user will sign in; it is stored when the link is used. */
  password: schemas.SignUpAppUserBody['password'];
}

export type SignUpAppUserCodes = codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_origin_not_allowed | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RequestAppUserLinkArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The e-mail address of the user, to which the link is sent. */
  email: schemas.RequestAppUserLinkBody['email'];
}

export type RequestAppUserLinkCodes = codes.Forbidden_origin_not_allowed | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UseAppUserLinkArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The token of the link: the part after `#plinth_link=`. */
  link_token: schemas.UseAppUserLinkBody['link_token'];
  /** A new password for the user; required if links do not sign users in. */
  password?: schemas.UseAppUserLinkBody['password'];
  /** How many seconds the token is valid; 3600 by default. */
  expires_in_seconds?: schemas.UseAppUserLinkBody['expires_in_seconds'];
}

export type UseAppUserLinkCodes = codes.Forbidden_origin_not_allowed | codes.NotFound_app_not_found | codes.Gone_link_expired | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAppUserSelfArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetAppUserSelfCodes = codes.Unauthenticated | codes.Forbidden_98b36e | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RenewAppUserTokenArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type RenewAppUserTokenCodes = codes.Unauthenticated | codes.Forbidden_98b36e | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SignOutAppUserArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type SignOutAppUserCodes = codes.Unauthenticated | codes.Forbidden_98b36e | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetAppAuthSettingsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetAppAuthSettingsCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SetAppAuthSettingsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** Who can sign up: nobody, people whom `createAppUser` has created, or everybody. */
  sign_up?: schemas.SetAppAuthSettingsBody['sign_up'];
  /** The ways in which users can sign in; fields that are not sent keep their value. */
  methods?: schemas.SetAppAuthSettingsBody['methods'];
}

export type SetAppAuthSettingsCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListEntitySchemasArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type ListEntitySchemasCodes = codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface SyncEntitySchemasArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The schema documents to create or replace, at most 100. */
  schemas: schemas.SyncEntitySchemasBody['schemas'];
  /** Whether to delete every schema that was not sent, which is refused if one of them has records; false by default. */
  delete_missing?: schemas.SyncEntitySchemasBody['delete_missing'];
  /** Whether to return what would change without saving anything; false by default. */
  dry_run?: schemas.SyncEntitySchemasBody['dry_run'];
}

export type SyncEntitySchemasCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_dabfde | codes.NotFound_app_not_found | codes.Conflict_c49351 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetEntitySchemaArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
}

export type GetEntitySchemaCodes = codes.Unauthenticated | codes.Forbidden_309962 | codes.NotFound_61adcd | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface PutEntitySchemaArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** Whether to return the impact without saving anything; false by default. */
  dry_run?: boolean;
  /** The revision of the schema that you have read, or 0 if it must not exist yet; if it differs, the response is 409. */
  expected_revision?: number;
  /** The name of the entity, as in the path; case-sensitive. */
  name: schemas.EntitySchemaDocument['name'];
  /** Always `object`; may be left out. */
  type?: schemas.EntitySchemaDocument['type'];
  /** A title for people. */
  title?: schemas.EntitySchemaDocument['title'];
  /** A description for people. */
  description?: schemas.EntitySchemaDocument['description'];
  /** The fields by name. */
  properties?: schemas.EntitySchemaDocument['properties'];
  /** The fields that every value must have. */
  required?: schemas.EntitySchemaDocument['required'];
  /** Lists of fields whose values must be unique together; they must not be arrays or objects. */
  unique?: schemas.EntitySchemaDocument['unique'];
  /** The rules of the entity. An operation (create, read, update, delete) without a rule is closed to users of the app and anonymous callers. */
  rls?: schemas.EntitySchemaDocument['rls'];
}

export type PutEntitySchemaCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_dabfde | codes.NotFound_app_not_found | codes.Conflict_1546cb | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteEntitySchemaArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** Whether to move up to 5,000 records of the entity to the trash first; without it, an entity with records answers 409. */
  delete_records?: boolean;
}

export type DeleteEntitySchemaCodes = codes.Unauthenticated | codes.Forbidden_dabfde | codes.NotFound_61adcd | codes.Conflict_schema_in_use | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ExplainRulesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The operation to explain. */
  operation: schemas.ExplainRulesBody['operation'];
  /** The id of a stored record that the caller may read. */
  record_id?: schemas.ExplainRulesBody['record_id'];
  /** A record that is not stored, instead of `record_id`; for `create`, the new record. */
  record?: schemas.ExplainRulesBody['record'];
  /** The fields that an update would send. */
  patch?: schemas.ExplainRulesBody['patch'];
  /** The person or app user to explain the decision for, given by exactly one field; by default, the caller. */
  as?: schemas.ExplainRulesBody['as'];
}

export type ExplainRulesCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_1687f3 | codes.Conflict_rule_too_expensive | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** A filter in the query language of records, as JSON. */
  q?: schemas.RecordQuery;
  /** Up to 3 comma-separated fields, each descending if prefixed with `-`; by default, the newest records come first. */
  sort?: string;
  /** The fields to return, comma-separated; `id` is always returned. */
  fields?: string;
  /** The maximum number of records per page, 100 by default; a page also ends before its data would exceed 1 MiB. */
  limit?: number;
  /** The `next_cursor` of the previous page. It contains the filter, sort and fields; if you send different ones, the response is 400. */
  cursor?: string;
}

export type ListRecordsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_a9ace9 | codes.NotFound_61adcd | codes.Conflict_rule_too_expensive | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateRecordArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The body of the request. */
  body?: schemas.CreateRecordBody;
}

export type CreateRecordCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_ca1e48 | codes.NotFound_b0cdca | codes.Conflict_1b73e3 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** A filter in the query language of records; an empty filter requires `all`. */
  query?: schemas.DeleteRecordsBody['query'];
  /** Must be true to delete all records with an empty query. */
  all?: schemas.DeleteRecordsBody['all'];
}

export type DeleteRecordsCodes = codes.Unauthenticated | codes.Forbidden_d91d82 | codes.NotFound_61adcd | codes.Conflict_80e8dc | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CountRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** A filter in the query language of records, as JSON. */
  q?: schemas.RecordQuery;
}

export type CountRecordsCodes = codes.Unauthenticated | codes.Forbidden_a9ace9 | codes.NotFound_61adcd | codes.Conflict_rule_too_expensive | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAllRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** Text that must be part of one of the record's texts, regardless of case. */
  search?: string;
  /** The maximum number of records per page; a page also ends before its data would exceed 1 MiB. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListAllRecordsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_61adcd | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetRecordArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The id of the record. */
  entity_id: string;
}

export type GetRecordCodes = codes.Unauthenticated | codes.Forbidden_a9ace9 | codes.NotFound_b0cdca | codes.Conflict_rule_too_expensive | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateRecordArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The id of the record. */
  entity_id: string;
  /** The body of the request. */
  body?: schemas.UpdateRecordBody;
}

export type UpdateRecordCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_ca1e48 | codes.NotFound_b0cdca | codes.Conflict_1b73e3 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteRecordArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The id of the record. */
  entity_id: string;
}

export type DeleteRecordCodes = codes.Unauthenticated | codes.Forbidden_d91d82 | codes.NotFound_b0cdca | codes.Conflict_rule_too_expensive | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The body of the request. */
  body: schemas.CreateRecordsBody;
}

export type CreateRecordsCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_ca1e48 | codes.NotFound_61adcd | codes.Conflict_1b73e3 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The body of the request. */
  body: schemas.UpdateRecordsBody;
}

export type UpdateRecordsCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_ca1e48 | codes.NotFound_b0cdca | codes.Conflict_1b73e3 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpsertRecordsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The records to update or create. Each must have all fields of `key`, and no two may have the same values in them. */
  records: schemas.UpsertRecordsBody['records'];
  /** The 1 to 3 fields that identify a record. They must not be arrays or objects, and every record must have them. */
  key: schemas.UpsertRecordsBody['key'];
}

export type UpsertRecordsCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_ca1e48 | codes.NotFound_61adcd | codes.Conflict_26f381 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RestoreRecordArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The id of the record. */
  entity_id: string;
}

export type RestoreRecordCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_b0cdca | codes.Conflict_unique_conflict | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface PurgeRecordArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the entity, which is case-sensitive. */
  entity_name: string;
  /** The id of the record. */
  entity_id: string;
}

export type PurgeRecordCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_b0cdca | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListAgentsArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** The field to sort by; a leading `-` reverses the order. */
  sort?: 'updated_date' | '-updated_date' | 'created_date' | '-created_date' | 'name' | '-name';
  /** Only agents in this folder. */
  folder_id?: string;
  /** Text that must be part of the name, regardless of case. */
  search?: string;
  /** Whether to list the contents of the trash instead; false by default. */
  deleted?: boolean;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListAgentsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_b790c8 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateAgentArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the agent; white space at the ends is removed. */
  name: schemas.CreateAgentBody['name'];
  /** A description of the agent, returned as `user_description`. */
  description?: schemas.CreateAgentBody['description'];
  /** The https URL of the logo. */
  logo_url?: schemas.CreateAgentBody['logo_url'];
  /** Instructions for the model, sent with every message; empty by default. */
  instructions?: schemas.CreateAgentBody['instructions'];
  /** The name of the model; if not sent, the default model of the installation is used. */
  model?: schemas.CreateAgentBody['model'];
}

export type CreateAgentCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAgentArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
}

export type GetAgentCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_8c8095 | codes.NotFound_agent_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateAgentArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The name of the agent; white space at the ends is removed. */
  name?: schemas.UpdateAgentBody['name'];
  /** A description of the agent, returned as `user_description`. */
  description?: schemas.UpdateAgentBody['description'];
  /** The https URL of the logo; null removes it. */
  logo_url?: schemas.UpdateAgentBody['logo_url'];
  /** Instructions for the model, sent with every message; empty by default. */
  instructions?: schemas.UpdateAgentBody['instructions'];
  /** The name of the model; null means the default model of the installation. */
  model?: schemas.UpdateAgentBody['model'];
}

export type UpdateAgentCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_12318c | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAgentArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
}

export type DeleteAgentCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_12318c | codes.Conflict_ad_platform_timeout | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateConversationArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** Any object to store with the conversation, at most 8 KiB as JSON; ignored if the conversation exists. */
  metadata?: schemas.CreateConversationBody['metadata'];
}

export type CreateConversationCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_6acde3 | codes.NotFound_agent_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListConversationsArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
}

export type ListConversationsCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_8c8095 | codes.NotFound_agent_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetConversationArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the conversation, which must be the caller's own. */
  conversation_id: string;
  /** The maximum number of messages to return. */
  limit?: number;
  /** The id of a message; only earlier messages are returned. */
  before?: string;
}

export type GetConversationCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_dab1df | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SendAgentMessageArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the conversation, which must be the caller's own. */
  conversation_id: string;
  /** The text of the message to the agent. */
  content: schemas.SendAgentMessageBody['content'];
  /** Up to 10 public https URLs, which the model receives as text; they are not fetched. */
  file_urls?: schemas.SendAgentMessageBody['file_urls'];
}

export type SendAgentMessageCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_6acde3 | codes.NotFound_69c363 | codes.Conflict_b8a350 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable_0da988 | codes.Timeout_reply_timeout | 'validation' | codes.OfEveryOperation;

export type SendAgentMessageEvent =
  | { event: 'message.created'; data: schemas.AgentMessage; id: string | undefined }
  | { event: 'message.delta'; data: schemas.TextDelta; id: string | undefined }
  | { event: 'tool_call'; data: schemas.AgentToolCall; id: string | undefined }
  | { event: 'message.reset'; data: schemas.NoData; id: string | undefined }
  | { event: 'message.completed'; data: schemas.AgentMessage; id: string | undefined };

export interface DeleteAgentMessageArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the conversation, which must be the caller's own. */
  conversation_id: string;
  /** The id of the message. */
  message_id: string;
}

export type DeleteAgentMessageCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_6acde3 | codes.NotFound_dab1df | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListMemoriesArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListMemoriesCodes = codes.BadRequest_b538cc | codes.Unauthenticated | codes.Forbidden_8c8095 | codes.NotFound_agent_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteMemoryArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the memory, which must be about the caller. */
  memory_id: string;
}

export type DeleteMemoryCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_af5dc1 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListAutomationsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListAutomationsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateAutomationArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the automation. */
  name: schemas.CreateAutomationBody['name'];
  /** Whether record changes or a schedule trigger the automation. */
  type: schemas.CreateAutomationBody['type'];
  /** The action that the automation performs. */
  action: schemas.CreateAutomationBody['action'];
  /** The entity whose record changes trigger the automation. */
  entity_name?: schemas.CreateAutomationBody['entity_name'];
  /** The kinds of record changes that trigger the automation. */
  event_types?: schemas.CreateAutomationBody['event_types'];
  /** A jq expression; the action is skipped if the result is false or null. */
  condition?: schemas.CreateAutomationBody['condition'];
  /** The schedule of the automation. */
  schedule?: schemas.CreateAutomationBody['schedule'];
  /** A note about the automation. */
  description?: schemas.CreateAutomationBody['description'];
  /** Whether the automation is active; true by default. */
  is_active?: schemas.CreateAutomationBody['is_active'];
}

export type CreateAutomationCodes = codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_e35c5e | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateAutomationArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the automation. */
  automation_id: string;
  /** The name of the automation. */
  name?: schemas.UpdateAutomationBody['name'];
  /** Whether record changes or a schedule trigger the automation. */
  type?: schemas.UpdateAutomationBody['type'];
  /** The action that the automation performs. */
  action?: schemas.UpdateAutomationBody['action'];
  /** The entity whose record changes trigger the automation. */
  entity_name?: schemas.UpdateAutomationBody['entity_name'];
  /** The kinds of record changes that trigger the automation. */
  event_types?: schemas.UpdateAutomationBody['event_types'];
  /** A jq expression; the action is skipped if the result is false or null. */
  condition?: schemas.UpdateAutomationBody['condition'];
  /** The schedule of the automation. */
  schedule?: schemas.UpdateAutomationBody['schedule'];
  /** A note about the automation. */
  description?: schemas.UpdateAutomationBody['description'];
  /** Whether the automation is active; true by default. */
  is_active?: schemas.UpdateAutomationBody['is_active'];
}

export type UpdateAutomationCodes = codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_4fb691 | codes.NotFound_9a6abf | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAutomationArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the automation. */
  automation_id: string;
}

export type DeleteAutomationCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_c09f3f | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListConnectorsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListConnectorsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetConnectionConfigArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The type of the connector, which is not case-sensitive. */
  integration_type: string;
}

export type GetConnectionConfigCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_92f0a6 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetConnectionStatusArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The type of the connector; not case-sensitive. */
  integration_type: string;
  /** The id of the connection to read. */
  connection_id?: string;
}

export type GetConnectionStatusCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_6ddc89 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListConnectionsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListConnectionsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface StartConnectionArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The type of the connector; not case-sensitive. */
  integration_type: schemas.StartConnectionBody['integration_type'];
  /** Values of the connector's fields, by name. Don't send secrets here. */
  connection_config?: schemas.StartConnectionBody['connection_config'];
  /** Secrets for a service with API keys, by field name. They are never returned. */
  credentials?: schemas.StartConnectionBody['credentials'];
  /** The scopes to request; the connector's defaults if not sent. */
  scopes?: schemas.StartConnectionBody['scopes'];
  /** Whether to connect again even if a connection exists. An owner of the app can also replace another person's connection. */
  force_reconnect?: schemas.StartConnectionBody['force_reconnect'];
  /** The address that the browser returns to at the end, on this installation or the published app. */
  return_url?: schemas.StartConnectionBody['return_url'];
}

export type StartConnectionCodes = codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_4fb691 | codes.NotFound_92f0a6 | codes.Conflict_a61b2f | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_0fd1b3 | 'validation' | codes.OfEveryOperation;

export interface SetConnectorScopesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The type of the connector, which is not case-sensitive. */
  integration_type: string;
  /** The new scopes, which replace the current ones. */
  scopes: schemas.SetConnectorScopesBody['scopes'];
  /** Values of the connector's fields, by name. Don't send secrets here. */
  connection_config?: schemas.SetConnectorScopesBody['connection_config'];
}

export type SetConnectorScopesCodes = codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_4fb691 | codes.NotFound_6ddc89 | codes.Conflict_a61b2f | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_connector_not_configured | 'validation' | codes.OfEveryOperation;

export interface DisconnectConnectorArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The type of the connector, which is not case-sensitive. */
  integration_type: string;
}

export type DisconnectConnectorCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_6ddc89 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RemoveConnectorArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The type of the connector, which is not case-sensitive. */
  integration_type: string;
}

export type RemoveConnectorCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_6ddc89 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface TrackEventsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The events to store. */
  events: schemas.TrackEventsBody['events'];
}

export type TrackEventsCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_e72178 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetUserStatsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetUserStatsCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListEventNamesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListEventNamesCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface QueryEventsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** Only include events with this name. */
  event_name: schemas.QueryEventsBody['event_name'];
  /** The start of the time range, inclusive. */
  start_time?: schemas.QueryEventsBody['start_time'];
  /** The end of the time range, exclusive; now by default. */
  end_time?: schemas.QueryEventsBody['end_time'];
  /** A filter for events: docs/api/analytics.md#filters. */
  q?: schemas.QueryEventsBody['q'];
  /** The maximum number of events per page; 100 by default. */
  limit?: schemas.QueryEventsBody['limit'];
  /** The `next_cursor` of the previous page. */
  cursor?: schemas.QueryEventsBody['cursor'];
}

export type QueryEventsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_d170b1 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface AggregateOverTimeArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** Only include events with this name. */
  event_name?: schemas.AggregateOverTimeBody['event_name'];
  /** The metrics to compute. */
  metrics: schemas.AggregateOverTimeBody['metrics'];
  /** The start of the time range, inclusive. */
  start_time?: schemas.AggregateOverTimeBody['start_time'];
  /** The end of the time range, exclusive; now by default. */
  end_time?: schemas.AggregateOverTimeBody['end_time'];
  /** A filter for events: docs/api/analytics.md#filters. */
  q?: schemas.AggregateOverTimeBody['q'];
  /** The length of a bucket in milliseconds, rounded down to a supported interval. */
  bucket_size_ms?: schemas.AggregateOverTimeBody['bucket_size_ms'];
  /** The maximum number of buckets; 100 by default. */
  max_buckets?: schemas.AggregateOverTimeBody['max_buckets'];
}

export type AggregateOverTimeCodes = codes.Unauthenticated | codes.Forbidden_d170b1 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface AggregateByFieldArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** Only include events with this name. */
  event_name?: schemas.AggregateByFieldBody['event_name'];
  /** The metrics, each with a field to group by. */
  metrics: schemas.AggregateByFieldBody['metrics'];
  /** The start of the time range, inclusive. */
  start_time?: schemas.AggregateByFieldBody['start_time'];
  /** The end of the time range, exclusive; now by default. */
  end_time?: schemas.AggregateByFieldBody['end_time'];
  /** A filter for events: docs/api/analytics.md#filters. */
  q?: schemas.AggregateByFieldBody['q'];
}

export type AggregateByFieldCodes = codes.Unauthenticated | codes.Forbidden_d170b1 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetBillingArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type GetBillingCodes = codes.Unauthenticated | codes.Forbidden_f7fb70 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface StartBillingSetupArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type StartBillingSetupCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.RateLimited | codes.InternalError | codes.Unavailable_payment_provider_unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAdsAccountArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetAdsAccountCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_a52f52 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface EnsureTrackingAccountArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The time zone of a new account, as an IANA name; `UTC` by default. */
  timezone?: schemas.EnsureTrackingAccountBody['timezone'];
}

export type EnsureTrackingAccountCodes = codes.BadRequest_platform_rejected | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_ad_platform_timeout | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | 'validation' | codes.OfEveryOperation;

export interface GetLaunchReadinessArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetLaunchReadinessCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetBudgetBoundariesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The currency, as an ISO 4217 code. */
  currency_code: string;
  /** The type of the campaign. */
  campaign_type?: 'SMART' | 'PERFORMANCE_MAX';
}

export type GetBudgetBoundariesCodes = codes.BadRequest_currency_unsupported | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListConversionActionsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListConversionActionsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_a52f52 | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | 'validation' | codes.OfEveryOperation;

export interface ListConversionMappingsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListConversionMappingsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_a52f52 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateConversionMappingArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The entity whose records the mapping is about. */
  entity_name: schemas.CreateConversionMappingBody['entity_name'];
  /** The category of the conversion. */
  conversion_type: schemas.CreateConversionMappingBody['conversion_type'];
  /** The change to a record that counts as a conversion; `create` by default. */
  trigger_action?: schemas.CreateConversionMappingBody['trigger_action'];
  /** The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used. */
  conversion_action_id?: schemas.CreateConversionMappingBody['conversion_action_id'];
  /** The record's field for the conversion value; empty if there is none. */
  value_field?: schemas.CreateConversionMappingBody['value_field'];
  /** The record's field for the currency; empty if there is none. */
  currency_field?: schemas.CreateConversionMappingBody['currency_field'];
  /** Whether the mapping is enabled. */
  is_enabled?: schemas.CreateConversionMappingBody['is_enabled'];
}

export type CreateConversionMappingCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_a52f52 | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateConversionMappingArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the conversion mapping. */
  mapping_id: string;
  /** The entity whose records the mapping is about. */
  entity_name?: schemas.UpdateConversionMappingBody['entity_name'];
  /** The category of the conversion. */
  conversion_type?: schemas.UpdateConversionMappingBody['conversion_type'];
  /** The change to a record that counts as a conversion; `create` by default. */
  trigger_action?: schemas.UpdateConversionMappingBody['trigger_action'];
  /** The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used. */
  conversion_action_id?: schemas.UpdateConversionMappingBody['conversion_action_id'];
  /** The record's field for the conversion value; empty if there is none. */
  value_field?: schemas.UpdateConversionMappingBody['value_field'];
  /** The record's field for the currency; empty if there is none. */
  currency_field?: schemas.UpdateConversionMappingBody['currency_field'];
  /** Whether the mapping is enabled. */
  is_enabled?: schemas.UpdateConversionMappingBody['is_enabled'];
}

export type UpdateConversionMappingCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_b4f76a | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteConversionMappingArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the conversion mapping. */
  mapping_id: string;
}

export type DeleteConversionMappingCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_b4f76a | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetTrackingScriptArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type GetTrackingScriptCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_a52f52 | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface ScanTrackingArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type ScanTrackingCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface BuildBootstrapPromptArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** Whether the instruction also covers reporting conversions, not only installing the base tag; false by default. */
  wire_events?: schemas.BuildBootstrapPromptBody['wire_events'];
}

export type BuildBootstrapPromptCodes = codes.BadRequest_platform_rejected | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | 'validation' | codes.OfEveryOperation;

export interface VerifyTrackingArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type VerifyTrackingCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_a52f52 | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface SuggestSearchThemesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the business; the name of the app by default. */
  business_name?: schemas.SuggestSearchThemesBody['business_name'];
  /** What the business offers; the description of the app by default. */
  business_description?: schemas.SuggestSearchThemesBody['business_description'];
  /** The page that the ads link to. It is context for the language model and is not fetched. */
  landing_page_url?: schemas.SuggestSearchThemesBody['landing_page_url'];
}

export type SuggestSearchThemesCodes = codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GenerateAssetsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The kind of campaign. It determines which texts and images are generated: docs/api/ads.md#slots. */
  channel_type: schemas.GenerateAssetsBody['channel_type'];
  /** The name of the business; the name of the app by default. */
  business_name?: schemas.GenerateAssetsBody['business_name'];
  /** What the business offers; the description of the app by default. */
  business_description?: schemas.GenerateAssetsBody['business_description'];
  /** The page that the ads link to. It is context for the language model and is not fetched. */
  landing_page_url?: schemas.GenerateAssetsBody['landing_page_url'];
  /** The language of the texts; `en` by default. */
  language?: schemas.GenerateAssetsBody['language'];
}

export type GenerateAssetsCodes = codes.Unauthenticated | codes.PaymentRequired_edc693 | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_0da988 | 'validation' | codes.OfEveryOperation;

export interface ListAssetsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of a generation. If it is unknown or has expired, the list is empty. */
  session_id?: string;
  /** The id of a campaign. Its assets at the ad platform are then listed in `durable`. */
  campaign_id?: string;
}

export type ListAssetsCodes = codes.Unauthenticated | codes.Forbidden_a0b90e | codes.NotFound_campaign_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface AcceptAssetArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the text or image. */
  session_asset_id: string;
  /** The id of the generation that made the asset. */
  session_id: schemas.AcceptAssetBody['session_id'];
  /** The Performance Max campaign to add the asset to. */
  campaign_id: schemas.AcceptAssetBody['campaign_id'];
}

export type AcceptAssetCodes = codes.BadRequest_platform_rejected | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_0b34a1 | codes.Conflict_897a22 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAdImageArgs {
  /** The file name in `image_url`. */
  file: string;
}

export type GetAdImageCodes = codes.NotFound_asset_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface PauseAllCampaignsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type PauseAllCampaignsCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface UpdateCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the campaign. */
  campaign_id: string;
  /** The field to change. */
  field: schemas.UpdateCampaignBody['field'];
  /** The new value: a string for `name` and `landing_page`, an integer for `budget`, a date or null for `end_date`, a list of strings for locations and themes, or an object with `headlines`, `long_headlines` or `descriptions` for `ad_copy`. */
  value: schemas.UpdateCampaignBody['value'];
}

export type UpdateCampaignCodes = codes.BadRequest_89f937 | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_59c9c2 | codes.Conflict_1db947 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_fe00fc | 'validation' | codes.OfEveryOperation;

export interface DeleteCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the campaign. */
  campaign_id: string;
}

export type DeleteCampaignCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_d73c7f | codes.Conflict_ad_platform_timeout | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface GetCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the campaign. */
  campaign_id: string;
}

export type GetCampaignCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_d73c7f | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface PauseCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the campaign. */
  campaign_id: string;
}

export type PauseCampaignCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_d73c7f | codes.Conflict_fb8f9f | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface ResumeCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the campaign. */
  campaign_id: string;
}

export type ResumeCampaignCodes = codes.BadRequest_platform_rejected | codes.Unauthenticated | codes.PaymentRequired_fe0935 | codes.Forbidden_4fb691 | codes.NotFound_d73c7f | codes.Conflict_c82b10 | codes.RateLimited | codes.InternalError | codes.Unavailable_b0f29c | 'validation' | codes.OfEveryOperation;

export interface SearchGeoTargetsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of a location, optionally with its region or country. */
  query?: string;
  /** The country to search, as an ISO 3166-1 alpha-2 code; empty for all countries. */
  country_code?: string;
  /** The maximum number of locations to return. */
  limit?: number;
}

export type SearchGeoTargetsCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListCampaignsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Whether to read current metrics from the ad platform; true by default. If false, the last known metrics are returned. */
  include_metrics?: boolean;
}

export type ListCampaignsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the campaign. */
  campaign_name: schemas.CampaignInput['campaign_name'];
  /** The type of the campaign. It must be in `can_create` of getLaunchReadiness. */
  campaign_type: schemas.CampaignInput['campaign_type'];
  /** The daily budget, in millionths of the currency unit. */
  daily_budget_micros: schemas.CampaignInput['daily_budget_micros'];
  /** The page that the ads link to, for example the `landing_page` of getLaunchReadiness. */
  landing_page: schemas.CampaignInput['landing_page'];
  /** The name of the business, with at most 25 characters; the name of the app by default. */
  business_name?: schemas.CampaignInput['business_name'];
  /** What the business offers; the description of the app by default. */
  business_description?: schemas.CampaignInput['business_description'];
  /** The keyword themes of a Smart campaign; the business name by default. */
  keyword_themes?: schemas.CampaignInput['keyword_themes'];
  /** The search themes of a Performance Max campaign, with at most 10 words each. */
  search_themes?: schemas.CampaignInput['search_themes'];
  /** The locations where the ads are shown, as ids from searchGeoTargets; the workspace's country by default. */
  geo_targets?: schemas.CampaignInput['geo_targets'];
  /** The locations where the ads are not shown. */
  excluded_geo_targets?: schemas.CampaignInput['excluded_geo_targets'];
  /** The language of the ads; English by default. */
  language_code?: schemas.CampaignInput['language_code'];
  /** The phone number in the ads. */
  phone_number?: schemas.CampaignInput['phone_number'];
  /** The address of a square logo of at least 128 pixels. Required for a Performance Max campaign. */
  logo_url?: schemas.CampaignInput['logo_url'];
  /** Headlines of at most 30 characters, one of them at most 15. If not sent, the language model writes them. */
  headlines?: schemas.CampaignInput['headlines'];
  /** Long headlines of a Performance Max campaign, with at most 90 characters each. */
  long_headlines?: schemas.CampaignInput['long_headlines'];
  /** Descriptions of at most 90 characters, one of them at most 60. */
  descriptions?: schemas.CampaignInput['descriptions'];
  /** Addresses of images with the aspect ratio 1.91:1. If there are none, a generated or drawn image is used. */
  marketing_image_urls?: schemas.CampaignInput['marketing_image_urls'];
  /** Addresses of square images. If there are none, a generated or drawn image is used. */
  square_image_urls?: schemas.CampaignInput['square_image_urls'];
  /** The first day of the campaign, in the time zone of the account; today by default. */
  start_date?: schemas.CampaignInput['start_date'];
  /** The last day of the campaign. If not sent, the campaign has no end. */
  end_date?: schemas.CampaignInput['end_date'];
  /** Whether the campaign contains political advertising. Required if it can be shown in the European Union. */
  contains_eu_political_advertising?: schemas.CampaignInput['contains_eu_political_advertising'];
  /** Whether the campaign stays paused until it is resumed. */
  start_paused?: schemas.CampaignInput['start_paused'];
  /** An id that you choose for the draft. A draft creates one campaign, however often it is sent. */
  draft_id?: schemas.CampaignInput['draft_id'];
}

export type CreateCampaignCodes = codes.BadRequest_b98a1b | codes.Unauthenticated | codes.PaymentRequired_4f893f | codes.Forbidden_4fb691 | codes.NotFound_a52f52 | codes.Conflict_17896d | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_cffa03 | 'validation' | codes.OfEveryOperation;

export interface SyncCampaignsArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type SyncCampaignsCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_a52f52 | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | codes.OfEveryOperation;

export interface GetCampaignJournalArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the campaign. */
  campaign_id: string;
}

export type GetCampaignJournalCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_d73c7f | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetSearchTermsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The days of the report, `LAST_30_DAYS` by default. Ignored if dates are sent. See docs/api/ads.md#search-terms. */
  date_range?: 'TODAY' | 'YESTERDAY' | 'LAST_7_DAYS' | 'LAST_14_DAYS' | 'LAST_30_DAYS' | 'LAST_90_DAYS' | 'THIS_WEEK_MON_TODAY' | 'THIS_WEEK_SUN_TODAY' | 'LAST_WEEK_MON_SUN' | 'LAST_WEEK_SUN_SAT' | 'LAST_BUSINESS_WEEK' | 'THIS_MONTH' | 'LAST_MONTH';
  /** The first day of the report. Requires `end_date`. */
  start_date?: string;
  /** The last day of the report. Requires `start_date`. */
  end_date?: string;
}

export type GetSearchTermsCodes = codes.BadRequest_5657f2 | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable_ad_platform_unavailable | 'validation' | codes.OfEveryOperation;

export interface LaunchCampaignArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The campaign to launch. */
  campaign: schemas.LaunchCampaignBody['campaign'];
  /** The time zone of a new account, as an IANA name; `UTC` by default. */
  timezone?: schemas.LaunchCampaignBody['timezone'];
}

export type LaunchCampaignCodes = codes.BadRequest_b98a1b | codes.Unauthenticated | codes.PaymentRequired_4f893f | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_17896d | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable_cffa03 | 'validation' | codes.OfEveryOperation;

export interface GetLaunchArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the launch. */
  launch_id: string;
}

export type GetLaunchCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_32bdac | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetAdsCeilingsArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type GetAdsCeilingsCodes = codes.Unauthenticated | codes.Forbidden_dc2c07 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface PutAdsCeilingsArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The currency of the amounts, as an ISO 4217 code. */
  currency_code: schemas.PutAdsCeilingsBody['currency_code'];
  /** The ceiling for each app's daily budgets, in millionths of the currency unit. */
  app_daily_micros: schemas.PutAdsCeilingsBody['app_daily_micros'];
  /** The ceiling for all daily budgets together. */
  workspace_daily_micros: schemas.PutAdsCeilingsBody['workspace_daily_micros'];
}

export type PutAdsCeilingsCodes = codes.BadRequest_currency_unsupported | codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAgentWebhooksArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
}

export type ListAgentWebhooksCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_agent_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateAgentWebhookArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** `push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them. */
  mode?: schemas.CreateAgentWebhookBody['mode'];
  /** The public https URL to which deliveries are sent. Required, except for a pull webhook, which has none. */
  target_url?: schemas.CreateAgentWebhookBody['target_url'];
  /** A note about the webhook. */
  description?: schemas.CreateAgentWebhookBody['description'];
  /** Whether to create a secret with which deliveries are signed; true by default. */
  generate_secret?: schemas.CreateAgentWebhookBody['generate_secret'];
  /** The types of events that the webhook receives; repeated names are merged. */
  events: schemas.CreateAgentWebhookBody['events'];
}

export type CreateAgentWebhookCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_agent_not_found | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAgentWebhookArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
}

export type GetAgentWebhookCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_d5634d | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateAgentWebhookArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The public https URL to which deliveries are sent, including waiting ones; changing it does not turn the webhook on. A pull webhook has none. */
  target_url?: schemas.UpdateAgentWebhookBody['target_url'];
  /** A note about the webhook; null removes it. */
  description?: schemas.UpdateAgentWebhookBody['description'];
  /** True turns the webhook on, resets `consecutive_failures` and sends held deliveries; false turns it off. */
  enabled?: schemas.UpdateAgentWebhookBody['enabled'];
  /** `rotate` creates a secret, which is returned once, and the previous one still signs for 24 hours; `disable` removes all secrets immediately. */
  signing?: schemas.UpdateAgentWebhookBody['signing'];
  /** The types of events that the webhook receives; repeated names are merged. */
  events?: schemas.UpdateAgentWebhookBody['events'];
}

export type UpdateAgentWebhookCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_4fb691 | codes.NotFound_d5634d | codes.Conflict_d8b5f5 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAgentWebhookArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
}

export type DeleteAgentWebhookCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_d5634d | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface TestAgentWebhookArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
}

export type TestAgentWebhookCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_d5634d | codes.Conflict_webhook_is_pull | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListAgentDeliveriesArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only deliveries with this status. */
  status?: 'pending' | 'delivering' | 'delivered' | 'failed' | 'held' | 'missed' | 'expired';
  /** Only deliveries of events of this type. */
  event_type?: string;
  /** Only deliveries with a greater sequence number; the list then begins with the oldest. */
  after_seq?: number;
  /** Only deliveries with a smaller sequence number. */
  before_seq?: number;
  /** Only what was created at or after this time; UTC if the time has no zone. */
  from?: string;
  /** Only what was created at or before this time; UTC if the time has no zone. */
  to?: string;
}

export type ListAgentDeliveriesCodes = codes.BadRequest_b538cc | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_d5634d | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface StreamAgentDeliveriesArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The stream begins with the delivery after this number. `Last-Event-ID` takes precedence. */
  after_seq?: number;
}

export type StreamAgentDeliveriesCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_d5634d | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type StreamAgentDeliveriesEvent =
  | { event: 'ready'; data: schemas.DeliveryStreamReady; id: string | undefined }
  | { event: 'delivery'; data: schemas.StreamedWebhookDelivery; id: string | undefined }
  | { event: 'delivery.changed'; data: schemas.WebhookDelivery; id: string | undefined };

export interface AckAgentDeliveriesArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** All deliveries up to this number, inclusive, are acknowledged. */
  up_to_sequence: schemas.AckAgentDeliveriesBody['up_to_sequence'];
}

export type AckAgentDeliveriesCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_d5634d | codes.Conflict_webhook_is_push | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAgentDeliveryArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The id of the delivery; deliveries are kept for 30 days. */
  delivery_id: string;
}

export type GetAgentDeliveryCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_725d1f | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RedeliverAgentDeliveryArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The id of the delivery; deliveries are kept for 30 days. */
  delivery_id: string;
}

export type RedeliverAgentDeliveryCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_725d1f | codes.Conflict_76448d | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ReplayAgentWebhookArgs {
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The statuses of the deliveries to send again; `failed` and `missed` by default. */
  statuses?: schemas.ReplayAgentWebhookBody['statuses'];
  /** Only deliveries created at or after this time. */
  from?: schemas.ReplayAgentWebhookBody['from'];
  /** Only deliveries created at or before this time. */
  to?: schemas.ReplayAgentWebhookBody['to'];
  /** Only deliveries whose sequence number is greater than this one. */
  after_seq?: schemas.ReplayAgentWebhookBody['after_seq'];
  /** Only deliveries up to this sequence number, inclusive. */
  to_seq?: schemas.ReplayAgentWebhookBody['to_seq'];
  /** The maximum number of deliveries to send again; 1,000 by default. */
  limit?: schemas.ReplayAgentWebhookBody['limit'];
}

export type ReplayAgentWebhookCodes = codes.BadRequest_not_an_agent | codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_d5634d | codes.Conflict_1c11f2 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAppWebhooksArgs {
  /** The id of the app or agent. */
  app_id: string;
}

export type ListAppWebhooksCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface CreateAppWebhookArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** `push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them. */
  mode?: schemas.CreateAppWebhookBody['mode'];
  /** The public https URL to which deliveries are sent. Required, except for a pull webhook, which has none. */
  target_url?: schemas.CreateAppWebhookBody['target_url'];
  /** A note about the webhook. */
  description?: schemas.CreateAppWebhookBody['description'];
  /** Whether to create a secret with which deliveries are signed; true by default. */
  generate_secret?: schemas.CreateAppWebhookBody['generate_secret'];
  /** The types of events that the webhook receives; repeated names are merged. */
  events: schemas.CreateAppWebhookBody['events'];
  /** The entities whose events the webhook receives; null means all. */
  entity_names?: schemas.CreateAppWebhookBody['entity_names'];
}

export type CreateAppWebhookCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_app_not_found | codes.Conflict_323e5c | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAppWebhookArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
}

export type GetAppWebhookCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_e126eb | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateAppWebhookArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The public https URL to which deliveries are sent, including waiting ones; changing it does not turn the webhook on. A pull webhook has none. */
  target_url?: schemas.UpdateAppWebhookBody['target_url'];
  /** A note about the webhook; null removes it. */
  description?: schemas.UpdateAppWebhookBody['description'];
  /** True turns the webhook on, resets `consecutive_failures` and sends held deliveries; false turns it off. */
  enabled?: schemas.UpdateAppWebhookBody['enabled'];
  /** `rotate` creates a secret, which is returned once, and the previous one still signs for 24 hours; `disable` removes all secrets immediately. */
  signing?: schemas.UpdateAppWebhookBody['signing'];
  /** The types of events that the webhook receives; repeated names are merged. */
  events?: schemas.UpdateAppWebhookBody['events'];
  /** The entities whose events the webhook receives; null means all. */
  entity_names?: schemas.UpdateAppWebhookBody['entity_names'];
}

export type UpdateAppWebhookCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_e126eb | codes.Conflict_d8b5f5 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteAppWebhookArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
}

export type DeleteAppWebhookCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_e126eb | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface TestAppWebhookArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
}

export type TestAppWebhookCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_e126eb | codes.Conflict_webhook_is_pull | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListAppDeliveriesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only deliveries with this status. */
  status?: 'pending' | 'delivering' | 'delivered' | 'failed' | 'held' | 'missed' | 'expired';
  /** Only deliveries of events of this type. */
  event_type?: string;
  /** Only deliveries with a greater sequence number; the list then begins with the oldest. */
  after_seq?: number;
  /** Only deliveries with a smaller sequence number. */
  before_seq?: number;
  /** Only what was created at or after this time; UTC if the time has no zone. */
  from?: string;
  /** Only what was created at or before this time; UTC if the time has no zone. */
  to?: string;
}

export type ListAppDeliveriesCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_e126eb | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface StreamAppDeliveriesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The stream begins with the delivery after this number. `Last-Event-ID` takes precedence. */
  after_seq?: number;
}

export type StreamAppDeliveriesCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_e126eb | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type StreamAppDeliveriesEvent =
  | { event: 'ready'; data: schemas.DeliveryStreamReady; id: string | undefined }
  | { event: 'delivery'; data: schemas.StreamedWebhookDelivery; id: string | undefined }
  | { event: 'delivery.changed'; data: schemas.WebhookDelivery; id: string | undefined };

export interface AckAppDeliveriesArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** All deliveries up to this number, inclusive, are acknowledged. */
  up_to_sequence: schemas.AckAppDeliveriesBody['up_to_sequence'];
}

export type AckAppDeliveriesCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_e126eb | codes.Conflict_webhook_is_push | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetAppDeliveryArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The id of the delivery; deliveries are kept for 30 days. */
  delivery_id: string;
}

export type GetAppDeliveryCodes = codes.Unauthenticated | codes.Forbidden_d0600c | codes.NotFound_f4f450 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RedeliverAppDeliveryArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The id of the delivery; deliveries are kept for 30 days. */
  delivery_id: string;
}

export type RedeliverAppDeliveryCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_f4f450 | codes.Conflict_76448d | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ReplayAppWebhookArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the webhook. */
  webhook_id: string;
  /** The statuses of the deliveries to send again; `failed` and `missed` by default. */
  statuses?: schemas.ReplayAppWebhookBody['statuses'];
  /** Only deliveries created at or after this time. */
  from?: schemas.ReplayAppWebhookBody['from'];
  /** Only deliveries created at or before this time. */
  to?: schemas.ReplayAppWebhookBody['to'];
  /** Only deliveries whose sequence number is greater than this one. */
  after_seq?: schemas.ReplayAppWebhookBody['after_seq'];
  /** Only deliveries up to this sequence number, inclusive. */
  to_seq?: schemas.ReplayAppWebhookBody['to_seq'];
  /** The maximum number of deliveries to send again; 1,000 by default. */
  limit?: schemas.ReplayAppWebhookBody['limit'];
}

export type ReplayAppWebhookCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_e126eb | codes.Conflict_1c11f2 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListMemberWebhooksArgs {
  /** The e-mail address of the member, or of a former member who created webhooks, percent-encoded. */
  email: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListMemberWebhooksCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_3a6d4c | codes.NotFound_a93903 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListWorkflowsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Whether archived workflows are listed too. */
  include_archived?: boolean;
}

export type ListWorkflowsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The name of the workflow. */
  name: schemas.CreateWorkflowBody['name'];
  /** The definition (docs/api/workflows.md#definitions). */
  definition: schemas.CreateWorkflowBody['definition'];
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger: schemas.CreateWorkflowBody['trigger'];
  /** What the workflow is for. */
  description?: schemas.CreateWorkflowBody['description'];
  /** A summary of what this version changes. */
  change_summary?: schemas.CreateWorkflowBody['change_summary'];
}

export type CreateWorkflowCodes = codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_4f55e0 | codes.Conflict_31cc95 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ValidateWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The definition (docs/api/workflows.md#definitions). */
  definition: schemas.ValidateWorkflowBody['definition'];
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger?: schemas.ValidateWorkflowBody['trigger'];
}

export type ValidateWorkflowCodes = codes.Unauthenticated | codes.Forbidden_d170b1 | codes.NotFound_app_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
}

export type GetWorkflowCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_79a421 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface UpdateWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The name of the workflow. */
  name?: schemas.UpdateWorkflowBody['name'];
  /** The definition (docs/api/workflows.md#definitions). */
  definition?: schemas.UpdateWorkflowBody['definition'];
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger?: schemas.UpdateWorkflowBody['trigger'];
  /** What the workflow is for; null clears it. */
  description?: schemas.UpdateWorkflowBody['description'];
  /** A summary of what this version changes. */
  change_summary?: schemas.UpdateWorkflowBody['change_summary'];
}

export type UpdateWorkflowCodes = codes.BadRequest_workflow_archived | codes.Unauthenticated | codes.PaymentRequired_0a605d | codes.Forbidden_4fb691 | codes.NotFound_c4e345 | codes.Conflict_26fe1b | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ArchiveWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
}

export type ArchiveWorkflowCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_79a421 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListWorkflowVersionsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListWorkflowVersionsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_79a421 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RestoreWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
}

export type RestoreWorkflowCodes = codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_4fb691 | codes.NotFound_79a421 | codes.Conflict_26fe1b | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ToggleWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The new status. If it is not sent, the status switches between `active` and `inactive`. */
  status?: schemas.ToggleWorkflowBody['status'];
}

export type ToggleWorkflowCodes = codes.BadRequest_workflow_archived | codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_4fb691 | codes.NotFound_c4e345 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RunWorkflowArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The input of the run, at most 256 KiB. */
  input?: schemas.RunWorkflowBody['input'];
  /** The id of an earlier run of the workflow, whose input is used again. */
  replay_from_run_id?: schemas.RunWorkflowBody['replay_from_run_id'];
}

export type RunWorkflowCodes = codes.BadRequest_workflow_archived | codes.Unauthenticated | codes.PaymentRequired_5c98cd | codes.Forbidden_4fb691 | codes.NotFound_d7db6e | codes.Conflict_1717e1 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAppRunsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only runs with this status. */
  status?: 'running' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  /** Only runs that were started at or after this time. */
  since?: string;
}

export type ListAppRunsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_app_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListWorkflowRunsArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only runs with this status. */
  status?: 'running' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  /** Only runs that were started at or after this time. */
  since?: string;
}

export type ListWorkflowRunsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_79a421 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetRunArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The id of the run. */
  run_id: string;
  /** The number of the first step whose input and output are included; by default, those of the last 100 steps are. */
  values_from?: number;
}

export type GetRunCodes = codes.Unauthenticated | codes.Forbidden_9a4e2a | codes.NotFound_d7db6e | codes.RateLimited_too_many_streams | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type GetRunEvent =
  | { event: 'run.step'; data: schemas.WorkflowStep; id: string | undefined }
  | { event: 'run.completed'; data: schemas.WorkflowRun; id: string | undefined }
  | { event: 'run.failed'; data: schemas.WorkflowRun; id: string | undefined }
  | { event: 'run.cancelled'; data: schemas.WorkflowRun; id: string | undefined };

export interface CancelRunArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The id of the run. */
  run_id: string;
}

export type CancelRunCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_d7db6e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface AnalyzeRunArgs {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The id of the run. */
  run_id: string;
}

export type AnalyzeRunCodes = codes.BadRequest_run_not_failed | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_d7db6e | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ReceiveHookArgs {
  /** The token in the `hook_url` of the workflow. */
  hook_token: string;
  /** The body of the request. */
  body?: schemas.ReceiveHookBody;
}

export type ReceiveHookCodes = codes.PaymentRequired_storage_quota_exceeded | codes.NotFound_workflow_not_found | codes.Conflict_aafdb4 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListMembersArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** Text that must be part of the e-mail address, name, role or status, regardless of case. */
  search?: schemas.ListMembersBody['search'];
  /** Texts of which at least one must be part of the e-mail address, name, role or status, regardless of case. */
  search_terms?: schemas.ListMembersBody['search_terms'];
  /** The field to sort by; requires `sort_dir`. */
  sort_by?: schemas.ListMembersBody['sort_by'];
  /** Whether to sort ascending or descending; requires `sort_by`. */
  sort_dir?: schemas.ListMembersBody['sort_dir'];
  /** Only members with one of these roles; an empty list means all. */
  roles?: schemas.ListMembersBody['roles'];
  /** Only entries with one of these statuses; an empty list means all. */
  invite_statuses?: schemas.ListMembersBody['invite_statuses'];
  /** Only members with a limit of their own (true), or only those without (false); the default of the workspace does not count. */
  credit_limit_set?: schemas.ListMembersBody['credit_limit_set'];
  /** Only members whose number of apps, owned and shared together, is in this range. */
  apps_owned?: schemas.ListMembersBody['apps_owned'];
  /** Only members whose number of agents, owned and shared together, is in this range. */
  agents_owned?: schemas.ListMembersBody['agents_owned'];
  /** Only members whose last use of credits is in this range; members who never used any do not match. */
  last_active?: schemas.ListMembersBody['last_active'];
  /** The `next_cursor` of the previous page; a cursor that does not match the body starts again at the first page. */
  cursor?: schemas.ListMembersBody['cursor'];
  /** The maximum number of entries per page. */
  page_size?: schemas.ListMembersBody['page_size'];
}

export type ListMembersCodes = codes.Unauthenticated | codes.Forbidden_90e4af | codes.NotFound_workspace_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetMemberRoleArgs {
  /** The e-mail address of the member or of an invitation, percent-encoded and compared in lower case. */
  email: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The new role; a guest becomes a full member, and a new viewer loses their own credit limit. */
  role: schemas.SetMemberRoleBody['role'];
}

export type SetMemberRoleCodes = codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_49ddff | codes.NotFound_a93903 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetMemberAccessArgs {
  /** The e-mail address of the member, percent-encoded and compared in lower case. */
  email: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** `blocked` refuses every request of the member to the workspace; `active` restores access at once. */
  state: schemas.SetMemberAccessBody['state'];
}

export type SetMemberAccessCodes = codes.Unauthenticated | codes.Forbidden_49ddff | codes.NotFound_a93903 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetMemberCreditLimitArgs {
  /** The e-mail address of the member, percent-encoded and compared in lower case. */
  email: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The member's own monthly limit, with up to 4 decimals; null removes it. */
  credit_limit: schemas.SetMemberCreditLimitBody['credit_limit'];
}

export type SetMemberCreditLimitCodes = codes.BadRequest_07ee63 | codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_ff7b3a | codes.NotFound_a93903 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RemoveMemberArgs {
  /** The e-mail address of the member or of an invitation, percent-encoded and compared in lower case. */
  email: string;
  /** Whether to turn off the webhooks that the member created; false by default. */
  pause_webhooks?: boolean;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type RemoveMemberCodes = codes.Unauthenticated | codes.Forbidden_49ddff | codes.NotFound_a93903 | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetMemberRolesArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The members or invitations and their new roles; an e-mail address must not be repeated. */
  items: schemas.SetMemberRolesBody['items'];
}

export type SetMemberRolesCodes = codes.BadRequest_bulk_rejected | codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetMemberCreditLimitsArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The members and their new limits; an e-mail address must not be repeated. */
  items: schemas.SetMemberCreditLimitsBody['items'];
}

export type SetMemberCreditLimitsCodes = codes.BadRequest_bulk_rejected | codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RemoveMembersArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The e-mail addresses of the members or invitations to remove; none may be repeated. */
  emails: schemas.RemoveMembersBody['emails'];
  /** Whether to turn off the webhooks that the removed members created; false by default. */
  pause_webhooks?: schemas.RemoveMembersBody['pause_webhooks'];
}

export type RemoveMembersCodes = codes.BadRequest_bulk_rejected | codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface SetDefaultCreditLimitArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The monthly credits of members without a limit of their own, with up to 4 decimals; null removes the default. */
  default_credit_limit: schemas.SetDefaultCreditLimitBody['default_credit_limit'];
}

export type SetDefaultCreditLimitCodes = codes.BadRequest_limit_above_pool | codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface TransferOwnershipArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The e-mail address of the new owner, who must be a member and neither blocked nor deactivated. */
  email: schemas.TransferOwnershipBody['email'];
}

export type TransferOwnershipCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_a93903 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface InviteMemberArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The e-mail address of the person, compared in lower case. */
  email: schemas.InviteMemberBody['email'];
  /** The role that the person gets by joining; `admin` requires a plan that includes it. */
  role?: schemas.InviteMemberBody['role'];
}

export type InviteMemberCodes = codes.Unauthenticated | codes.PaymentRequired_plan_required | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_3e4582 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface InviteMembersArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The people to invite; an e-mail address must not be repeated. */
  invitations: schemas.InviteMembersBody['invitations'];
}

export type InviteMembersCodes = codes.BadRequest_bulk_rejected | codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ResendInvitationArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The e-mail addresses whose pending or expired invitation gets a new link; the old link stops working. */
  emails: schemas.ResendInvitationBody['emails'];
}

export type ResendInvitationCodes = codes.Unauthenticated | codes.Forbidden_db35a9 | codes.NotFound_workspace_not_found | codes.Conflict_bdbbf9 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface OpenInvitationArgs {
  /** The token of the invitation, which is the part of its link after `#`. */
  invitation_token: schemas.OpenInvitationBody['invitation_token'];
}

export type OpenInvitationCodes = codes.NotFound_invitation_not_found | codes.Gone_invitation_expired | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface JoinWorkspaceArgs {
  /** The token of the invitation, which is the part of its link after `#`. */
  invitation_token: schemas.JoinWorkspaceBody['invitation_token'];
  /** The name of the new user; required if the invited person has no account. */
  full_name?: schemas.JoinWorkspaceBody['full_name'];
  /** The password of the new user, 12 to 256 characters; required if the invited person has no account. */
  password?: schemas.JoinWorkspaceBody['password'];
}

export type JoinWorkspaceCodes = codes.Unauthenticated_c0c722 | codes.Forbidden_944228 | codes.NotFound_invitation_not_found | codes.Gone_invitation_expired | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetInvitationArgs {
  /** The token in the link of the invitation. */
  invitation_token: string;
}

export type GetInvitationCodes = codes.NotFound_invitation_not_found | codes.Gone_invitation_expired | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface AcceptInvitationArgs {
  /** The token in the link of the invitation. */
  invitation_token: string;
  /** The name of the new user; required if the invited person has no account. */
  full_name?: schemas.AcceptInvitationBody['full_name'];
  /** The password of the new user, 12 to 256 characters; required if the invited person has no account. */
  password?: schemas.AcceptInvitationBody['password'];
}

export type AcceptInvitationCodes = codes.Unauthenticated_c0c722 | codes.Forbidden_944228 | codes.NotFound_invitation_not_found | codes.Gone_invitation_expired | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListFoldersArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Whether to list folders of apps or of agents. */
  app_type?: 'user_app' | 'user_agent';
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListFoldersCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_dc2c07 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CreateFolderArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
  /** The name of the folder; white space at the ends is removed. */
  name: schemas.CreateFolderBody['name'];
  /** Whether the folder is visible to all members with at least the role viewer, or only to you (`personal`, the default); it can't be changed later. */
  scope?: schemas.CreateFolderBody['scope'];
  /** Whether the folder is for apps (`user_app`, the default, including imported apps) or for agents; it can't be changed later. */
  app_type?: schemas.CreateFolderBody['app_type'];
  /** The position of the folder, 0 by default; folders are sorted by position, then by name. */
  position?: schemas.CreateFolderBody['position'];
  /** The color of the folder, as `#` and six hexadecimal digits; null if it has none. */
  color?: schemas.CreateFolderBody['color'];
  /** Any text of up to 40 characters that names the icon of the folder; null if it has none. */
  icon?: schemas.CreateFolderBody['icon'];
  /** The id of the folder that contains this one; null if it is at the top level. */
  parent_folder_id?: schemas.CreateFolderBody['parent_folder_id'];
}

export type CreateFolderCodes = codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_bfb11e | codes.NotFound_f663c4 | codes.Conflict_9189b6 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface UpdateFolderArgs {
  /** The id of the folder. */
  folder_id: string;
  /** The name of the folder; white space at the ends is removed. */
  name?: schemas.UpdateFolderBody['name'];
  /** The position of the folder, 0 by default; folders are sorted by position, then by name. */
  position?: schemas.UpdateFolderBody['position'];
  /** The color of the folder, as `#` and six hexadecimal digits; null if it has none. */
  color?: schemas.UpdateFolderBody['color'];
  /** Any text of up to 40 characters that names the icon of the folder; null if it has none. */
  icon?: schemas.UpdateFolderBody['icon'];
  /** The id of the folder that contains this one; null if it is at the top level. */
  parent_folder_id?: schemas.UpdateFolderBody['parent_folder_id'];
}

export type UpdateFolderCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_folder_not_found | codes.Conflict_1b5634 | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface DeleteFolderArgs {
  /** The id of the folder. */
  folder_id: string;
}

export type DeleteFolderCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_folder_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface AddFolderItemsArgs {
  /** The id of the folder. */
  folder_id: string;
  /** The apps or agents to add to the folder; those that the caller can't reach are ignored. */
  app_ids: schemas.AddFolderItemsBody['app_ids'];
}

export type AddFolderItemsCodes = codes.BadRequest_app_kind_mismatch | codes.Unauthenticated | codes.PaymentRequired_storage_quota_exceeded | codes.Forbidden_4fb691 | codes.NotFound_folder_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface RemoveFolderItemArgs {
  /** The id of the folder. */
  folder_id: string;
  /** The id of the app or agent. */
  app_id: string;
}

export type RemoveFolderItemCodes = codes.Unauthenticated | codes.Forbidden_4fb691 | codes.NotFound_folder_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type ListPricesCodes = codes.Unauthenticated | codes.Forbidden_15dac2 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetCreditsArgs {
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type GetCreditsCodes = codes.Unauthenticated | codes.Forbidden_adbbf0 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface GetCreditUsageArgs {
  /** Only what was used at or after this time, at most 92 days before `to`; by default since the month began. */
  from?: string;
  /** Only what was used before this time; now by default. */
  to?: string;
  /** What the credits of a day are added up by. */
  group_by?: 'user' | 'app' | 'operation';
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type GetCreditUsageCodes = codes.Unauthenticated | codes.Forbidden_3db4dc | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListCreditLedgerArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Only return entries of this person. */
  user_id?: string;
  /** Only return entries of this app or agent. */
  app_id?: string;
  /** Only return entries of this kind. */
  kind?: 'use' | 'reserve' | 'release' | 'refund' | 'grant' | 'reset';
  /** Only what was created at or after this time; UTC if the time has no zone. */
  from?: string;
  /** Only what was created at or before this time; UTC if the time has no zone. */
  to?: string;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListCreditLedgerCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_3db4dc | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ListAuditLogArgs {
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
  /** Comma-separated list of: ads.account.created, ads.goals.created, ads.mapping.created, ads.mapping.updated, ads.mapping.deleted, ads.tracking.checked, ads.assets.generated, ads.campaign.pause_requested, ads.campaign.resume_requested, ads.campaign.update_requested, ads.campaign.delete_requested, ads.campaign.asset_accepted, ads.campaign.changed, ads.reconciled, ads.campaign.adopted, ads.ceilings.changed, ads.launch.requested, ads.launch.ended, app.created, app.updated, app.deleted, app.restored, app.revision_restored, app.shared, app.unshared, app.files_changed, app.auth_settings_changed, app.sign_up_dropped, app.preview_created, app.preview_deleted, app.published, app.unpublished, app_secret.created, app_secret.updated, app_secret.deleted, app_user.created, app_user.updated, app_user.deleted, app_user.token_created, app_user.signed_up, app_user.signed_in, app_user.sign_in_failed, app_user.signed_out, app_user.password_set, automation.created, automation.updated, automation.deleted, automation.disabled, automation.loop_stopped, connection.started, connection.connected, connection.failed, connection.scopes_changed, connection.disconnected, connection.removed, connection.expired, credits.granted, credits.mismatch, device_login.answered, entity_schema.created, entity_schema.updated, entity_schema.deleted, entity_schema.rule_dropped, folder.created, folder.updated, folder.deleted, folder.apps_added, folder.app_removed, invitation.created, invitation.resent, invitation.role_changed, invitation.cancelled, invitation.accepted, member.role_changed, member.blocked, member.unblocked, member.limit_changed, member.removed, operator.workspace_changed, record.purged, record.user_entity_written, record.written, repository.connected, repository.disconnected, scan.started, scan.finished, scan.finding_ignored, scan.finding_restored, scan.header_dismissed, scan.rls_fixed, session.launched, session.message_sent, session.cancel_requested, session.cancelled, session.completed, session.failed, test_flow.created, test_flow.updated, test_flow.delete_requested, test_flow.deleted, test_run.started, test_run.cancelled, token.created, token.renamed, token.revoked, user.deactivated, webhook.created, webhook.updated, webhook.deleted, webhook.secret_rotated, webhook.turned_on, webhook.turned_off, webhook.failing, webhook.redelivered, webhook.replayed, workflow.created, workflow.updated, workflow.archived, workflow.restored, workflow.toggled, workflow.run, workflow.run_cancelled, workflow.turned_off, workspace.billing_setup_started, workspace.created, workspace.updated, workspace.deleted, workspace.restored, workspace.imported, workspace.export_started, workspace.default_limit_changed, workspace.ownership_transferred, workspace_key.created, workspace_key.updated, workspace_key.revoked; an operation name followed by `.refused`, such as deleteApp.refused; or a prefix followed by `*`, such as app.*. */
  type?: string;
  /** Only entries whose actor had this e-mail address. */
  actor_email?: string;
  /** Only entries about this app or agent. */
  app_id?: string;
  /** Only changes that were made, or only those that were refused. */
  outcome?: 'done' | 'refused';
  /** Only entries whose `occurred_at` is this time or later; UTC if the time has no zone. */
  from?: string;
  /** Only entries whose `occurred_at` is this time or earlier; UTC if the time has no zone. */
  to?: string;
  /** Only sealed entries with a greater sequence. */
  after_sequence?: number;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ListAuditLogCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_d63f44 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ExportAuditLogArgs {
  /** The sequence of the first entry to export, inclusive. */
  from_sequence?: number;
  /** The sequence of the last entry to export, inclusive. */
  to_sequence?: number;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type ExportAuditLogCodes = codes.Unauthenticated | codes.Forbidden_d63f44 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface VerifyAuditLogArgs {
  /** The sequence at which to start; by default at the first entry that is kept. */
  from_sequence?: number;
  /** The id of the workspace, for credentials that are valid in several workspaces. */
  workspaceId?: string;
}

export type VerifyAuditLogCodes = codes.Unauthenticated | codes.Forbidden_d63f44 | codes.NotFound_workspace_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export type LiveCodes = codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type ReadyCodes = codes.InternalError | codes.OfEveryOperation;

export type MetricsCodes = codes.Unauthenticated_c0c722 | codes.NotFound_route_not_found | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type ServerInfoCodes = codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type OpenapiCodes = codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type OpenapiYamlCodes = codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface OpenapiOfFeatureArgs {
  /** The name of the file, such as `webhooks.json` for a feature, or `scalar.js` for the reference page. */
  file: string;
}

export type OpenapiOfFeatureCodes = codes.NotFound_route_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type LlmsCodes = codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ReferenceAssetArgs {
  /** The name of the file, such as `webhooks.json` for a feature, or `scalar.js` for the reference page. */
  file: string;
}

export type ReferenceAssetCodes = codes.NotFound_route_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export type ListQueuesCodes = codes.Unauthenticated | codes.Forbidden_ea9657 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface ListQueueRowsArgs {
  /** The name of a queue that `listQueues` returns. */
  queue: string;
  /** Only rows in this state; all that are not done if left out. */
  state?: 'due' | 'running' | 'delayed' | 'failed';
  /** Only rows of this owner. */
  owner?: string;
  /** The maximum number of items per page. */
  limit?: number;
  /** The `next_cursor` of the previous page, valid for 24 hours with the same filters; leave it out for the first page. */
  cursor?: string;
}

export type ListQueueRowsCodes = codes.BadRequest_cursor_invalid | codes.Unauthenticated | codes.Forbidden_ea9657 | codes.NotFound_queue_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface GetQueueRowArgs {
  /** The name of a queue that `listQueues` returns. */
  queue: string;
  /** The id of the row. */
  row_id: string;
}

export type GetQueueRowCodes = codes.Unauthenticated | codes.Forbidden_ea9657 | codes.NotFound_c3c2e4 | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

export interface RetryQueueRowsArgs {
  /** The name of a queue that `listQueues` returns. */
  queue: string;
  /** The ids of the rows; others are left alone. */
  ids?: schemas.RetryQueueRowsBody['ids'];
  /** Must be true if `ids` is left out: all failed rows are meant. */
  failed?: schemas.RetryQueueRowsBody['failed'];
  /** Of the failed rows, only those of this owner. */
  owner?: schemas.RetryQueueRowsBody['owner'];
  /** Of the failed rows, only those that failed since. */
  since?: schemas.RetryQueueRowsBody['since'];
}

export type RetryQueueRowsCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_queue_not_found | codes.Conflict_queue_rows_not_changeable | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface CancelQueueRowsArgs {
  /** The name of a queue that `listQueues` returns. */
  queue: string;
  /** The ids of the rows; others are left alone. */
  ids?: schemas.CancelQueueRowsBody['ids'];
  /** Instead of `ids`: all waiting rows of this owner. */
  owner?: schemas.CancelQueueRowsBody['owner'];
  /** Why, as shown in the audit log and in `last_error`. */
  reason: schemas.CancelQueueRowsBody['reason'];
}

export type CancelQueueRowsCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_queue_not_found | codes.Conflict_queue_rows_not_changeable | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface PauseQueueArgs {
  /** The name of a queue that `listQueues` returns. */
  queue: string;
  /** Only rows of this owner; all rows of the queue if left out. */
  owner?: schemas.PauseQueueBody['owner'];
  /** How long the pause lasts, at most seven days. */
  seconds: schemas.PauseQueueBody['seconds'];
}

export type PauseQueueCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_queue_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ResumeQueueArgs {
  /** The name of a queue that `listQueues` returns. */
  queue: string;
  /** Only rows of this owner; all rows of the queue if left out. */
  owner?: schemas.ResumeQueueBody['owner'];
}

export type ResumeQueueCodes = codes.Unauthenticated | codes.Forbidden_470b0c | codes.NotFound_queue_not_found | codes.PayloadTooLarge | codes.UnsupportedMediaType | codes.RateLimited | codes.InternalError | codes.Unavailable | 'validation' | codes.OfEveryOperation;

export interface ConsoleAssetArgs {
  /** The rest of the address, which may contain slashes. */
  rest: string;
}

export type ConsoleAssetCodes = codes.NotFound_route_not_found | codes.RateLimited | codes.InternalError | codes.Unavailable | codes.OfEveryOperation;

/** Every operation of the API. */
export interface Operations {
  /**
   * Check whether the installation has been set up.
   *
   * Effect: read. `GET /api/setup`
   */
  getSetup(args?: Record<string, never>, options?: CallOptions): Call<schemas.Setup, GetSetupCodes>;

  /**
   * Create the first user and workspace.
   *
   * Works once per installation, with the setup token that the API prints to its log at startup. The user becomes an operator.
   *
   * Effect: change. `POST /api/setup`
   */
  setUp(args: SetUpArgs, options?: CallOptions): Call<schemas.SetUpDone, SetUpCodes>;

  /**
   * Sign in with e-mail address and password to start a browser session.
   *
   * Returns 429 after five failures for the same e-mail and IP address within 15 minutes, and to a second attempt for the same e-mail address within 5 seconds. For an IP address from which somebody has signed in before, only attempts from that address count.
   *
   * Effect: change. `POST /api/auth/sign-in`
   */
  signIn(args: SignInArgs, options?: CallOptions): Call<schemas.SignedIn, SignInCodes>;

  /**
   * End this browser session.
   *
   * Effect: change. `POST /api/auth/sign-out`
   */
  signOut(args?: Record<string, never>, options?: CallOptions): Call<schemas.Success, SignOutCodes>;

  /**
   * Request a password reset mail.
   *
   * The response is the same whether or not the address has an account. Without a mail server no mail is sent, and the response has `X-Warning: reset_mail_off`.
   *
   * Effect: change. `POST /api/auth/password/forgot`
   */
  forgotPassword(args: ForgotPasswordArgs, options?: CallOptions): Call<schemas.Success, ForgotPasswordCodes>;

  /**
   * Set a new password with the token from the reset link.
   *
   * The link works once, for one hour, and verifies the e-mail address. All browser sessions of the user end, and a new one is started; tokens and keys stay valid, unless the address was not verified before.
   *
   * Effect: change. `POST /api/auth/password/reset`
   */
  resetPassword(args: ResetPasswordArgs, options?: CallOptions): Call<schemas.Success, ResetPasswordCodes>;

  /**
   * Read the calling user, credential and workspaces.
   *
   * Effect: read. `GET /api/auth/me`
   */
  getMe(args?: Record<string, never>, options?: CallOptions): Call<schemas.Me, GetMeCodes>;

  /**
   * Change the caller's name.
   *
   * Effect: change. `PATCH /api/auth/me`
   */
  updateMe(args?: UpdateMeArgs, options?: CallOptions): Call<schemas.User, UpdateMeCodes>;

  /**
   * Change the caller's password; their other browser sessions end.
   *
   * Effect: change. `POST /api/auth/password`
   */
  changePassword(args: ChangePasswordArgs, options?: CallOptions): Call<schemas.Success, ChangePasswordCodes>;

  /**
   * List the caller's browser sessions.
   *
   * Returns at most the 100 newest sessions. If there are more, the response has `X-Truncated: true`.
   *
   * Effect: read. `GET /api/auth/sessions`
   */
  listBrowserSessions(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListBrowserSessionsResult, ListBrowserSessionsCodes>;

  /**
   * Sign out everywhere else: end the caller's browser sessions, except for the one of the request.
   *
   * Effect: remove. `DELETE /api/auth/sessions`
   */
  endOtherBrowserSessions(args?: Record<string, never>, options?: CallOptions): Call<schemas.EndedSessions, EndOtherBrowserSessionsCodes>;

  /**
   * End one of the caller's browser sessions.
   *
   * Takes effect with the next request in every process. Ending the session of the request signs the caller out.
   *
   * Effect: remove. `DELETE /api/auth/sessions/{session_id}`
   */
  endBrowserSession(args: EndBrowserSessionArgs, options?: CallOptions): Call<schemas.Success, EndBrowserSessionCodes>;

  /**
   * List the caller's personal access tokens in the workspace.
   *
   * Effect: read. `GET /api/auth/tokens`
   */
  listTokens(args?: ListTokensArgs, options?: CallOptions): Call<schemas.ListTokensResult, ListTokensCodes>;

  /**
   * Create a personal access token.
   *
   * Only this response contains the token. A token created with another token can't have more apps, a higher permission or a later expiry than that token.
   *
   * Effect: change. `POST /api/auth/tokens`
   */
  createToken(args: CreateTokenArgs, options?: CallOptions): Call<schemas.CreatedToken, CreateTokenCodes>;

  /**
   * Rename one of the caller's tokens.
   *
   * Effect: change. `PATCH /api/auth/tokens/{token_id}`
   */
  updateToken(args: UpdateTokenArgs, options?: CallOptions): Call<schemas.Token, UpdateTokenCodes>;

  /**
   * Revoke one of the caller's tokens and all tokens and keys created with it.
   *
   * Effect: remove. `DELETE /api/auth/tokens/{token_id}`
   */
  revokeToken(args: RevokeTokenArgs, options?: CallOptions): Call<schemas.Success, RevokeTokenCodes>;

  /**
   * List the caller's personal API keys.
   *
   * Effect: read. `GET /api/auth/api-keys`
   *
   * @deprecated
   */
  listApiKeys(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListApiKeysResult, ListApiKeysCodes>;

  /**
   * Revoke one of the caller's personal API keys.
   *
   * Effect: remove. `DELETE /api/auth/api-keys/{key_id}`
   *
   * @deprecated
   */
  revokeApiKey(args: RevokeApiKeyArgs, options?: CallOptions): Call<schemas.Success, RevokeApiKeyCodes>;

  /**
   * List the personal access tokens of all members.
   *
   * Effect: read. `GET /api/workspace/tokens`
   */
  listWorkspaceTokens(args?: ListWorkspaceTokensArgs, options?: CallOptions): Call<schemas.ListWorkspaceTokensResult, ListWorkspaceTokensCodes>;

  /**
   * Revoke a member's token and all tokens and keys created with it.
   *
   * Effect: remove. `DELETE /api/workspace/tokens/{token_id}`
   */
  revokeWorkspaceToken(args: RevokeWorkspaceTokenArgs, options?: CallOptions): Call<schemas.Success, RevokeWorkspaceTokenCodes>;

  /**
   * List the workspace keys.
   *
   * Effect: read. `GET /api/workspace/api-keys`
   */
  listWorkspaceKeys(args?: ListWorkspaceKeysArgs, options?: CallOptions): Call<schemas.ListWorkspaceKeysResult, ListWorkspaceKeysCodes>;

  /**
   * Create a workspace key, for a program that acts for the workspace.
   *
   * The key acts for the workspace within its scopes, not for a user. If it is created in a session, it stays valid when its creator leaves. If it is created with a token, it can't outlive the token. Only this response contains the key.
   *
   * Effect: change. `POST /api/workspace/api-keys`
   */
  createWorkspaceKey(args: CreateWorkspaceKeyArgs, options?: CallOptions): Call<schemas.CreatedWorkspaceKey, CreateWorkspaceKeyCodes>;

  /**
   * Change the name or description of a workspace key.
   *
   * Effect: change. `PATCH /api/workspace/api-keys/{key_id}`
   */
  updateWorkspaceKey(args: UpdateWorkspaceKeyArgs, options?: CallOptions): Call<schemas.WorkspaceKey, UpdateWorkspaceKeyCodes>;

  /**
   * Revoke a workspace key.
   *
   * Effect: remove. `DELETE /api/workspace/api-keys/{key_id}`
   */
  revokeWorkspaceKey(args: RevokeWorkspaceKeyArgs, options?: CallOptions): Call<schemas.Success, RevokeWorkspaceKeyCodes>;

  /**
   * Begin to log in a program: get a code that a person types in their browser.
   *
   * The program shows the code and the address of the page `/device`, and then calls `pollDeviceLogin`.
   *
   * Effect: change. `POST /api/auth/device`
   */
  startDeviceLogin(args: StartDeviceLoginArgs, options?: CallOptions): Call<schemas.DeviceLoginStarted, StartDeviceLoginCodes>;

  /**
   * Fetch the token of a program that somebody has approved.
   *
   * Send it every five seconds until it answers something other than 409 `device_login_pending`. Only this response contains the token, and it works once.
   *
   * Effect: change. `POST /api/auth/device/token`
   */
  pollDeviceLogin(args: PollDeviceLoginArgs, options?: CallOptions): Call<schemas.CreatedToken, PollDeviceLoginCodes>;

  /**
   * Read what a program asks for, by the code that it shows.
   *
   * Effect: read. `GET /api/auth/device/{user_code}`
   */
  getDeviceLogin(args: GetDeviceLoginArgs, options?: CallOptions): Call<schemas.DeviceLogin, GetDeviceLoginCodes>;

  /**
   * Approve or deny a program.
   *
   * The token will be valid in the chosen workspace, and never for more than the program asked for. If you sign out before the program has fetched it, it gets none.
   *
   * Effect: change. `POST /api/auth/device/{user_code}/answer`
   */
  answerDeviceLogin(args: AnswerDeviceLoginArgs, options?: CallOptions): Call<schemas.Success, AnswerDeviceLoginCodes>;

  /**
   * List all users of the installation, newest first, or find one by e-mail address.
   *
   * Effect: read. `GET /api/operator/users`
   */
  listOperatorUsers(args?: ListOperatorUsersArgs, options?: CallOptions): PagedCall<schemas.ListOperatorUsersResult, ListOperatorUsersCodes, schemas.ListOperatorUsersResult['items'][number]>;

  /**
   * Deactivate an account: its sessions, tokens and personal keys end, and nobody can sign in to it.
   *
   * Takes effect with the next request in every process. Memberships, apps and workspace keys stay, except for keys that were created with a token of the user.
   *
   * Effect: change. `POST /api/operator/users/{user_id}/deactivate`
   */
  deactivateUser(args: DeactivateUserArgs, options?: CallOptions): Call<schemas.OperatedUser, DeactivateUserCodes>;

  /**
   * Reactivate an account; its sessions, tokens and keys stay ended.
   *
   * Effect: change. `POST /api/operator/users/{user_id}/reactivate`
   */
  reactivateUser(args: ReactivateUserArgs, options?: CallOptions): Call<schemas.OperatedUser, ReactivateUserCodes>;

  /**
   * List the caller's workspaces.
   *
   * Effect: read. `GET /api/workspaces`
   */
  listWorkspaces(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListWorkspacesResult, ListWorkspacesCodes>;

  /**
   * Create a workspace; the caller becomes its owner.
   *
   * Effect: change. `POST /api/workspaces`
   */
  createWorkspace(args: CreateWorkspaceArgs, options?: CallOptions): Call<schemas.Workspace, CreateWorkspaceCodes>;

  /**
   * Read the current workspace.
   *
   * Effect: read. `GET /api/workspace`
   */
  getWorkspace(args?: GetWorkspaceArgs, options?: CallOptions): Call<schemas.WorkspaceWithStorage, GetWorkspaceCodes>;

  /**
   * Change the current workspace.
   *
   * Effect: change. `PATCH /api/workspace`
   */
  updateWorkspace(args?: UpdateWorkspaceArgs, options?: CallOptions): Call<schemas.Workspace, UpdateWorkspaceCodes>;

  /**
   * Delete the current workspace; it is purged after 30 days.
   *
   * The workspace's campaigns are paused first. If the ad platform does not confirm the pause, the response is 409 `ad_platform_timeout`, and the workspace is kept.
   *
   * Effect: remove. `DELETE /api/workspace`
   */
  deleteWorkspace(args: DeleteWorkspaceArgs, options?: CallOptions): Call<schemas.DeletedWorkspace, DeleteWorkspaceCodes>;

  /**
   * Start an export of everything in the workspace, to download.
   *
   * Effect: change. `POST /api/workspace/export`
   */
  startExport(args?: StartExportArgs, options?: CallOptions): Call<schemas.StartedExport, StartExportCodes>;

  /**
   * Read the state of an export, or download its archive.
   *
   * With `download=true`, the response for a finished export is its archive: a gzipped tar file with one or more JSON Lines files per table and a manifest with counts and hashes. The archive is kept for seven days.
   *
   * Effect: read. `GET /api/workspace/export/{export_id}`
   */
  getExport(args: GetExportArgs, options?: CallOptions): Call<schemas.Export, GetExportCodes> & Formats<'application/gzip'>;

  /**
   * List the plans and what each includes.
   *
   * Effect: read. `GET /api/plans`
   */
  listPlans(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListPlansResult, ListPlansCodes>;

  /**
   * List all workspaces of the installation.
   *
   * Effect: read. `GET /api/operator/workspaces`
   */
  listOperatorWorkspaces(args?: ListOperatorWorkspacesArgs, options?: CallOptions): PagedCall<schemas.ListOperatorWorkspacesResult, ListOperatorWorkspacesCodes, schemas.ListOperatorWorkspacesResult['items'][number]>;

  /**
   * Set the plan, credits, rate multiplier, storage quota, feature switches or billing hold of a workspace.
   *
   * Effect: change. `PATCH /api/operator/workspaces/{workspace_id}`
   */
  setOperatorWorkspace(args: SetOperatorWorkspaceArgs, options?: CallOptions): Call<schemas.OperatedWorkspace, SetOperatorWorkspaceCodes>;

  /**
   * Grant credits to a workspace, or take credits back.
   *
   * Effect: change. `POST /api/operator/workspaces/{workspace_id}/credits`
   */
  grantCredits(args: GrantCreditsArgs, options?: CallOptions): Call<schemas.CreditLedgerRow, GrantCreditsCodes>;

  /**
   * List the apps that the caller can see.
   *
   * Effect: read. `GET /api/apps`
   */
  listApps(args?: ListAppsArgs, options?: CallOptions): PagedCall<schemas.ListAppsResult, ListAppsCodes, schemas.ListAppsResult['items'][number]>;

  /**
   * Create an app.
   *
   * `initial_message` is sent to the builder chat in the background: the app is returned at once, with `status.state` `processing`. A workspace key can't send one.
   *
   * Effect: change. `POST /api/apps`
   */
  createApp(args?: CreateAppArgs, options?: CallOptions): Call<schemas.App, CreateAppCodes>;

  /**
   * Read one app.
   *
   * Effect: read. `GET /api/apps/{app_id}`
   */
  getApp(args: GetAppArgs, options?: CallOptions): Call<schemas.App, GetAppCodes>;

  /**
   * Change an app; fields that are not sent keep their value.
   *
   * `owner_email` transfers the app to another member and requires the role owner.
   *
   * Effect: change. `PUT /api/apps/{app_id}`
   */
  updateApp(args: UpdateAppArgs, options?: CallOptions): Call<schemas.App, UpdateAppCodes>;

  /**
   * Move an app to the trash; it can be restored for 30 days.
   *
   * The campaigns of the app are paused first, and stay paused if it is restored. If the ad platform does not confirm this, the request fails with 409 `ad_platform_timeout`, and the app is kept.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}`
   */
  deleteApp(args: DeleteAppArgs, options?: CallOptions): Call<schemas.Success, DeleteAppCodes>;

  /**
   * Restore a deleted app from the trash.
   *
   * Effect: change. `POST /api/apps/{app_id}/restore`
   */
  restoreApp(args: RestoreAppArgs, options?: CallOptions): Call<schemas.App, RestoreAppCodes>;

  /**
   * List the people an app is shared with.
   *
   * Effect: read. `GET /api/apps/{app_id}/shares`
   */
  listAppShares(args: ListAppSharesArgs, options?: CallOptions): Call<schemas.ListAppSharesResult, ListAppSharesCodes>;

  /**
   * Share an app with a person; someone outside the workspace is invited as a guest.
   *
   * The response has `X-Warning` if the mail of a new invitation was not sent. Resend the invitation to get its link.
   *
   * Effect: change. `PUT /api/apps/{app_id}/shares/{email}`
   */
  putAppShare(args: PutAppShareArgs, options?: CallOptions): Call<schemas.AppShare, PutAppShareCodes>;

  /**
   * Stop sharing an app with a person; a guest without other shares leaves the workspace.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/shares/{email}`
   */
  deleteAppShare(args: DeleteAppShareArgs, options?: CallOptions): Call<schemas.Success, DeleteAppShareCodes>;

  /**
   * List the files of an app, ordered by path.
   *
   * Effect: read. `GET /api/apps/{app_id}/files`
   */
  listAppFiles(args: ListAppFilesArgs, options?: CallOptions): PagedCall<schemas.ListAppFilesResult, ListAppFilesCodes, schemas.ListAppFilesResult['items'][number]>;

  /**
   * Upload many files of an app in one revision, all or nothing.
   *
   * Effect: change. `PUT /api/apps/{app_id}/files`
   */
  syncAppFiles(args: SyncAppFilesArgs, options?: CallOptions): Call<schemas.AppFilesSynced, SyncAppFilesCodes>;

  /**
   * Read a file.
   *
   * Effect: read. `GET /api/apps/{app_id}/files/content`
   */
  getAppFile(args: GetAppFileArgs, options?: CallOptions): Call<schemas.AppFileContent, GetAppFileCodes>;

  /**
   * Write a file.
   *
   * Effect: change. `PUT /api/apps/{app_id}/files/content`
   */
  putAppFile(args: PutAppFileArgs, options?: CallOptions): Call<schemas.AppFileSaved, PutAppFileCodes>;

  /**
   * Delete a file.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/files/content`
   */
  deleteAppFile(args: DeleteAppFileArgs, options?: CallOptions): Call<schemas.Success, DeleteAppFileCodes>;

  /**
   * Download all files of an app as one archive.
   *
   * A gzipped tar file, or with `Accept: application/zip` a zip file. All files are those of one revision, which `X-App-Revision` names.
   *
   * Effect: read. `GET /api/apps/{app_id}/files/archive`
   */
  downloadAppFiles(args: DownloadAppFilesArgs, options?: CallOptions): Call<Uint8Array, DownloadAppFilesCodes> & Formats<'application/zip'>;

  /**
   * List the revisions of an app, newest first.
   *
   * The last 200 revisions and those of 30 days are kept, at most 2,000. If the storage quota is full, the oldest beyond the last 20 are given up.
   *
   * Effect: read. `GET /api/apps/{app_id}/revisions`
   */
  listRevisions(args: ListRevisionsArgs, options?: CallOptions): PagedCall<schemas.ListRevisionsResult, ListRevisionsCodes, schemas.ListRevisionsResult['items'][number]>;

  /**
   * Read one revision, and how it differs from another one.
   *
   * At most 1,000 files are listed; `X-Truncated` says if more differ. Long differences are cut.
   *
   * Effect: read. `GET /api/apps/{app_id}/revisions/{revision}`
   */
  getRevision(args: GetRevisionArgs, options?: CallOptions): Call<schemas.Revision, GetRevisionCodes>;

  /**
   * Restore the files, schemas and headers of an earlier revision as a new one.
   *
   * Nothing of the history is removed. Rules that would open data are restored only if `opens` names them; `dry_run` lists them. `X-Changed: false` means that nothing was changed. The published app stays as it is.
   *
   * Effect: change. `POST /api/apps/{app_id}/revisions/{revision}/restore`
   */
  restoreRevision(args: RestoreRevisionArgs, options?: CallOptions): Call<schemas.RevisionRestored, RestoreRevisionCodes>;

  /**
   * List the names of an app's secrets.
   *
   * Effect: read. `GET /api/apps/{app_id}/secrets`
   */
  listAppSecrets(args: ListAppSecretsArgs, options?: CallOptions): PagedCall<schemas.ListAppSecretsResult, ListAppSecretsCodes, schemas.ListAppSecretsResult['items'][number]>;

  /**
   * Store a secret of an app, such as an API key; its value can't be read back.
   *
   * Effect: change. `PUT /api/apps/{app_id}/secrets/{secret_name}`
   */
  putAppSecret(args: PutAppSecretArgs, options?: CallOptions): Call<schemas.AppSecret, PutAppSecretCodes>;

  /**
   * Delete a secret.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/secrets/{secret_name}`
   */
  deleteAppSecret(args: DeleteAppSecretArgs, options?: CallOptions): Call<schemas.Success, DeleteAppSecretCodes>;

  /**
   * Build an app by chat: send a message to its assistant.
   *
   * Responds when the turn has ended, after at most 10 minutes. If the turn fails, the response is 200 with `status.state` `error`, and nothing is saved. With `Accept: text/event-stream` the turn is streamed. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.
   *
   * Effect: spend. `POST /api/apps/{app_id}/chat/message`
   */
  sendChatMessage(args: SendChatMessageArgs, options?: CallOptions): StreamedCall<schemas.ChatTurn, SendChatMessageCodes, SendChatMessageEvent>;

  /**
   * Follow all turns of an app's chat, and its revisions, as a stream of events.
   *
   * Begins with the running turn, if there is one, or after `Last-Event-ID`. Ends after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/apps/{app_id}/chat/events`
   */
  followChat(args: FollowChatArgs, options?: CallOptions): StreamedCall<never, FollowChatCodes, FollowChatEvent>;

  /**
   * List the messages of an app's chat, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/chat/full-conversation`
   */
  getChat(args: GetChatArgs, options?: CallOptions): PagedCall<schemas.GetChatResult, GetChatCodes, schemas.GetChatResult['items'][number]>;

  /**
   * Stop the running turn of an app's chat; nothing that it changed is saved.
   *
   * If no turn was running, `stopped` is false, and the response has `X-Changed: false`.
   *
   * Effect: change. `POST /api/apps/{app_id}/chat/stop`
   */
  stopChat(args: StopChatArgs, options?: CallOptions): Call<schemas.ChatStopped, StopChatCodes>;

  /**
   * Apply or drop a rule that the assistant proposed and that would open data.
   *
   * Applying a rule creates one revision. After 409 `held_rules_outdated`, the proposal can only be dropped.
   *
   * Effect: change. `POST /api/apps/{app_id}/chat/held-rules/{held_id}`
   */
  answerHeldRules(args: AnswerHeldRulesArgs, options?: CallOptions): Call<schemas.HeldRulesAnswered, AnswerHeldRulesCodes>;

  /**
   * Publish an app's files, or make an earlier deployment live again.
   *
   * Publishes the files in `dist`, or else those in `public`. `X-Changed: false` means that they were already live. Visitors see the change within a second.
   *
   * Effect: change. `POST /api/apps/{app_id}/deploy`
   */
  publishApp(args: PublishAppArgs, options?: CallOptions): Call<schemas.Deployed, PublishAppCodes>;

  /**
   * Take a published app off the web; its deployments are kept.
   *
   * `X-Changed: false` means that the app was not published.
   *
   * Effect: change. `POST /api/apps/{app_id}/unpublish`
   */
  unpublishApp(args: UnpublishAppArgs, options?: CallOptions): Call<schemas.Success, UnpublishAppCodes>;

  /**
   * List the deployments of an app, newest first; the last 50 are kept.
   *
   * Effect: read. `GET /api/apps/{app_id}/deployments`
   */
  listDeployments(args: ListDeploymentsArgs, options?: CallOptions): PagedCall<schemas.ListDeploymentsResult, ListDeploymentsCodes, schemas.ListDeploymentsResult['items'][number]>;

  /**
   * Read an app's security settings.
   *
   * Effect: read. `GET /api/apps/{app_id}/security/settings`
   */
  getSecuritySettings(args: GetSecuritySettingsArgs, options?: CallOptions): Call<schemas.SecuritySettings, GetSecuritySettingsCodes>;

  /**
   * Change an app's security settings; fields that are not sent keep their value.
   *
   * The headers take effect within a second, even for files that are already published.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/security/settings`
   */
  setSecuritySettings(args: SetSecuritySettingsArgs, options?: CallOptions): Call<schemas.SecuritySettings, SetSecuritySettingsCodes>;

  /**
   * Show a revision of an app on a host of its own, for a day.
   *
   * For a look at an app before it is published. The pages read and change the app's live data. The newest 20 previews of an app are kept.
   *
   * Effect: change. `POST /api/apps/{app_id}/previews`
   */
  createPreview(args: CreatePreviewArgs, options?: CallOptions): Call<schemas.Preview, CreatePreviewCodes>;

  /**
   * End a preview; its address and its token stop working at once.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/previews/{preview_id}`
   */
  deletePreview(args: DeletePreviewArgs, options?: CallOptions): Call<schemas.Success, DeletePreviewCodes>;

  /**
   * Read an app's latest security scan without starting one.
   *
   * Read `status` before `result`. An empty group means that there are no problems only if `X-Scan-Coverage` says `ran` for it. If the caller can't see the app, the response is 403.
   *
   * Effect: read. `GET /api/apps/{app_id}/security/scan`
   */
  getSecurityScan(args: GetSecurityScanArgs, options?: CallOptions): Call<schemas.SecurityScan, GetSecurityScanCodes> & Formats<'application/sarif+json'>;

  /**
   * Scan an app for security problems.
   *
   * Poll `getSecurityScan` until `status` is neither `pending` nor `scanning`. `X-Changed: false` means that a scan was already waiting or running.
   *
   * Effect: change. `POST /api/apps/{app_id}/security/scan`
   */
  runSecurityScan(args: RunSecurityScanArgs, options?: CallOptions): Call<schemas.SecurityScan, RunSecurityScanCodes>;

  /**
   * Ignore a finding; it stays in the result.
   *
   * The finding is no longer ignored once scans have not found it for 180 days.
   *
   * Effect: change. `POST /api/apps/{app_id}/security/scan/ignore`
   */
  ignoreFinding(args: IgnoreFindingArgs, options?: CallOptions): Call<schemas.MarkedFinding, IgnoreFindingCodes>;

  /**
   * Restore an ignored finding.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/security/scan/ignore/{fingerprint}`
   */
  restoreFinding(args: RestoreFindingArgs, options?: CallOptions): Call<schemas.MarkedFinding, RestoreFindingCodes>;

  /**
   * Replace the rules of open operations with those that the scan recommends.
   *
   * Each entity is changed separately, and only if its rules have not changed since the scan.
   *
   * Effect: change. `POST /api/apps/{app_id}/security/scan/fix-rls`
   */
  fixRls(args: FixRlsArgs, options?: CallOptions): Call<schemas.FixedRules, FixRlsCodes>;

  /**
   * Hide a header recommendation until the next scan.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/security/scan/header-recommendations/{flag}`
   */
  dismissHeader(args: DismissHeaderArgs, options?: CallOptions): Call<schemas.MarkedFinding, DismissHeaderCodes>;

  /**
   * List the tests of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/flows`
   */
  listFlows(args: ListFlowsArgs, options?: CallOptions): Call<schemas.ListFlowsResult, ListFlowsCodes>;

  /**
   * Create a test that an agent runs in a real browser.
   *
   * Effect: change. `POST /api/apps/{app_id}/testing-agent/flows`
   */
  createFlow(args: CreateFlowArgs, options?: CallOptions): Call<schemas.Flow, CreateFlowCodes>;

  /**
   * Read a test.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/flows/{flow_id}`
   */
  getFlow(args: GetFlowArgs, options?: CallOptions): Call<schemas.Flow, GetFlowCodes>;

  /**
   * Change a test; fields that are not sent keep their value.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/testing-agent/flows/{flow_id}`
   */
  updateFlow(args: UpdateFlowArgs, options?: CallOptions): Call<schemas.Flow, UpdateFlowCodes>;

  /**
   * Delete a test and keep its runs and reports.
   *
   * If the test is running, the run is cancelled and its browser closed first. After a 503 response, send the request again.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/testing-agent/flows/{flow_id}`
   */
  deleteFlow(args: DeleteFlowArgs, options?: CallOptions): Call<schemas.Success, DeleteFlowCodes>;

  /**
   * Let the language model write up to five tests based on the contents of an app.
   *
   * Costs 2 credits. `no_changes` is true if the model found nothing new to test.
   *
   * Effect: spend. `POST /api/apps/{app_id}/testing-agent/flows/generate-from-app-context`
   */
  generateFlows(args: GenerateFlowsArgs, options?: CallOptions): Call<schemas.GeneratedFlows, GenerateFlowsCodes>;

  /**
   * Run a test on the published app.
   *
   * Costs 3 credits. Poll `getExecution` until `completed_at` is set, then read the report with `getTestReport`.
   *
   * Effect: spend. `POST /api/apps/{app_id}/testing-agent/executions`
   */
  startExecution(args: StartExecutionArgs, options?: CallOptions): Call<schemas.Execution, StartExecutionCodes>;

  /**
   * List the test runs of an app, including those of deleted tests, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/executions`
   */
  listExecutions(args: ListExecutionsArgs, options?: CallOptions): PagedCall<schemas.ListExecutionsResult, ListExecutionsCodes, schemas.ListExecutionsResult['items'][number]>;

  /**
   * Read the newest run of each test of an app, keyed by the id of the test.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/executions/latest-by-flow`
   */
  latestExecutions(args: LatestExecutionsArgs, options?: CallOptions): Call<schemas.LatestExecutionsResult, LatestExecutionsCodes>;

  /**
   * Read a test run.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/executions/{execution_id}`
   */
  getExecution(args: GetExecutionArgs, options?: CallOptions): Call<schemas.Execution, GetExecutionCodes>;

  /**
   * Cancel a test run and close its browser.
   *
   * Waits up to 5 seconds for the browser to close. `already_terminal` is true if the run had ended before.
   *
   * Effect: change. `POST /api/apps/{app_id}/testing-agent/executions/{execution_id}/cancel`
   */
  cancelExecution(args: CancelExecutionArgs, options?: CallOptions): Call<schemas.CancelledExecution, CancelExecutionCodes>;

  /**
   * Read the report of a test run.
   *
   * The addresses of screenshots and traces in the report expire after an hour.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/analysis/{execution_id}`
   */
  getTestReport(args: GetTestReportArgs, options?: CallOptions): Call<schemas.TestReport, GetTestReportCodes>;

  /**
   * Fetch a screenshot or trace at an address from a report.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/evidence/{execution_id}/{file}`
   */
  getTestEvidence(args: GetTestEvidenceArgs, options?: CallOptions): Call<Uint8Array, GetTestEvidenceCodes> & Formats<'application/zip'>;

  /**
   * Read which repository an imported app is connected to.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/repository`
   */
  getRepository(args: GetRepositoryArgs, options?: CallOptions): Call<schemas.Repository, GetRepositoryCodes>;

  /**
   * Connect an imported app to its repository at the git host.
   *
   * The token is encrypted and never shown. It must be allowed to read and write contents and pull requests; `missing_permissions` lists what it lacks. Without `credentials`, the App that the operator registered at the git host is used, if the operator has given the repository to the workspace.
   *
   * Effect: change. `PUT /api/apps/{app_id}/imported/repository`
   */
  connectRepository(args: ConnectRepositoryArgs, options?: CallOptions): Call<schemas.Repository, ConnectRepositoryCodes>;

  /**
   * Disconnect an imported app from its repository and delete the token.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/imported/repository`
   */
  disconnectRepository(args: DisconnectRepositoryArgs, options?: CallOptions): Call<schemas.Success, DisconnectRepositoryCodes>;

  /**
   * Let an agent carry out a task in the app's repository and open a pull request.
   *
   * Responds before the work starts. If you get no response, send the same `Idempotency-Key` again: it never starts a second session, and returns the session as it is now. A session costs 1 credit per 10,000 tokens, at least 2.
   *
   * Effect: spend. `POST /api/apps/{app_id}/imported/sessions`
   */
  launchSession(args: LaunchSessionArgs, options?: CallOptions): Call<schemas.CodingSession, LaunchSessionCodes>;

  /**
   * List the coding sessions of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions`
   */
  listSessions(args: ListSessionsArgs, options?: CallOptions): PagedCall<schemas.ListSessionsResult, ListSessionsCodes, schemas.ListSessionsResult['items'][number]>;

  /**
   * Read the session that you launched with this Idempotency-Key.
   *
   * Shows whether a launch that you got no response to was accepted. It never launches a session.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/launch-requests/{launch_key}`
   */
  getSessionByKey(args: GetSessionByKeyArgs, options?: CallOptions): Call<schemas.CodingSession, GetSessionByKeyCodes>;

  /**
   * Read a coding session.
   *
   * The state of the pull request is refreshed if it is older than a minute. If the git host does not respond, `X-Partial-Result` names `pull_request`.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}`
   */
  getSession(args: GetSessionArgs, options?: CallOptions): Call<schemas.CodingSession, GetSessionCodes>;

  /**
   * Cancel a coding session and keep what it has pushed.
   *
   * A queued session ends at once. Any other active session is `cancelling` until it has stopped, for at most 20 seconds.
   *
   * Effect: change. `POST /api/apps/{app_id}/imported/sessions/{session_id}/cancel`
   */
  cancelSession(args: CancelSessionArgs, options?: CallOptions): Call<schemas.CodingSession, CancelSessionCodes>;

  /**
   * Read the open question or approval of a coding session.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}/input-request`
   */
  getInputRequest(args: GetInputRequestArgs, options?: CallOptions): Call<schemas.OpenInputRequest, GetInputRequestCodes>;

  /**
   * Answer, approve or write to a coding session.
   *
   * A text is read at the next step of the session. If the session has ended, a text starts another turn on the same branch. `answers` and `approve` require the `input_request_id` of the open question or approval.
   *
   * Effect: spend. `POST /api/apps/{app_id}/imported/sessions/{session_id}/messages`
   */
  sendSessionMessage(args: SendSessionMessageArgs, options?: CallOptions): Call<schemas.SessionMessage, SendSessionMessageCodes>;

  /**
   * Read whether the agent has read a message.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}/messages/{input_id}`
   */
  getSessionMessage(args: GetSessionMessageArgs, options?: CallOptions): Call<schemas.SessionMessage, GetSessionMessageCodes>;

  /**
   * Follow a coding session as a stream of events.
   *
   * Begins with the session as it is, or after `Last-Event-ID`. Ends with the session, or after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}/events`
   */
  streamSession(args: StreamSessionArgs, options?: CallOptions): StreamedCall<never, StreamSessionCodes, StreamSessionEvent>;

  /**
   * List the users of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/users`
   */
  listAppUsers(args: ListAppUsersArgs, options?: CallOptions): PagedCall<schemas.ListAppUsersResult, ListAppUsersCodes, schemas.ListAppUsersResult['items'][number]>;

  /**
   * Create a user of an app.
   *
   * Effect: change. `POST /api/apps/{app_id}/users`
   */
  createAppUser(args: CreateAppUserArgs, options?: CallOptions): Call<schemas.AppUser, CreateAppUserCodes>;

  /**
   * Change a user of an app.
   *
   * Fields that are not sent keep their value. `data` is merged key by key; null removes a key.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/users/{user_id}`
   */
  updateAppUser(args: UpdateAppUserArgs, options?: CallOptions): Call<schemas.AppUser, UpdateAppUserCodes>;

  /**
   * Delete a user of an app; their tokens stop working at once, their records stay.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/users/{user_id}`
   */
  deleteAppUser(args: DeleteAppUserArgs, options?: CallOptions): Call<schemas.Success, DeleteAppUserCodes>;

  /**
   * Create a token with which a user of an app calls its data operations.
   *
   * For the app's own server, after it has signed the user in. The token is valid for this app only.
   *
   * Effect: change. `POST /api/apps/{app_id}/users/{user_id}/tokens`
   */
  createAppUserToken(args: CreateAppUserTokenArgs, options?: CallOptions): Call<schemas.AppUserToken, CreateAppUserTokenCodes>;

  /**
   * Sign a user of an app in with an e-mail address and password.
   *
   * For the app's web pages. Returns 429 after five failures for the same e-mail and IP address within 15 minutes, and to a second attempt for the same e-mail address within 5 seconds; at an IP address where a user of the app has signed in before, only attempts from there count.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/sign-in`
   */
  signInAppUser(args: SignInAppUserArgs, options?: CallOptions): Call<schemas.AppUserSignedIn, SignInAppUserCodes>;

  /**
   * Sign up as a user of an app, to be confirmed with a mailed link.
   *
   * The response is the same for every address. The user is created, and the password stored, when the link is used. If no mail can be sent, the response has `X-Warning: link_mail_off`.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/sign-up`
   */
  signUpAppUser(args: SignUpAppUserArgs, options?: CallOptions): Call<schemas.Success, SignUpAppUserCodes>;

  /**
   * Send a user of an app a link that signs them in or sets a password.
   *
   * The response is the same whether or not a user has the address. If no mail can be sent, the response has `X-Warning: link_mail_off`.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/link`
   */
  requestAppUserLink(args: RequestAppUserLinkArgs, options?: CallOptions): Call<schemas.Success, RequestAppUserLinkCodes>;

  /**
   * Sign a user of an app in with the token of a mailed link, and set a password if one is sent.
   *
   * The link works once and for one hour, and ends all other links to the address. A new password ends the user's other sign-ins.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/link/use`
   */
  useAppUserLink(args: UseAppUserLinkArgs, options?: CallOptions): Call<schemas.AppUserSignedIn, UseAppUserLinkCodes>;

  /**
   * Read the calling user of an app.
   *
   * Effect: read. `GET /api/apps/{app_id}/auth/me`
   */
  getAppUserSelf(args: GetAppUserSelfArgs, options?: CallOptions): Call<schemas.AppUserSelf, GetAppUserSelfCodes>;

  /**
   * Replace the calling user's token with a new one; the old one expires soon.
   *
   * The new token is valid for as long as the old one was, but not beyond the end of the sign-in: 30 days after it began, or the expiry of a token that `createAppUserToken` made. The old token of a sign-in expires after 60 seconds, so you can repeat a request whose response was lost; a token that `createAppUserToken` made expires at once.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/renew`
   */
  renewAppUserToken(args: RenewAppUserTokenArgs, options?: CallOptions): Call<schemas.AppUserSignedIn, RenewAppUserTokenCodes>;

  /**
   * End the calling user's sign-in.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/sign-out`
   */
  signOutAppUser(args: SignOutAppUserArgs, options?: CallOptions): Call<schemas.Success, SignOutAppUserCodes>;

  /**
   * Read how the users of an app sign in and sign up.
   *
   * Effect: read. `GET /api/apps/{app_id}/auth/settings`
   */
  getAppAuthSettings(args: GetAppAuthSettingsArgs, options?: CallOptions): Call<schemas.AppAuthSettings, GetAppAuthSettingsCodes>;

  /**
   * Change how the users of an app sign in and sign up; fields that are not sent keep their value.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/auth/settings`
   */
  setAppAuthSettings(args: SetAppAuthSettingsArgs, options?: CallOptions): Call<schemas.AppAuthSettings, SetAppAuthSettingsCodes>;

  /**
   * List an app's entity schemas, sorted by name.
   *
   * Effect: read. `GET /api/apps/{app_id}/entity-schemas`
   */
  listEntitySchemas(args: ListEntitySchemasArgs, options?: CallOptions): Call<schemas.ListEntitySchemasResult, ListEntitySchemasCodes>;

  /**
   * Create or replace many schemas in one revision, all or nothing.
   *
   * With `delete_missing`, schemas that were not sent are deleted. If one of those has records, the whole request is refused.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entity-schemas`
   */
  syncEntitySchemas(args: SyncEntitySchemasArgs, options?: CallOptions): Call<schemas.EntitySchemasSynced, SyncEntitySchemasCodes>;

  /**
   * Read one schema.
   *
   * Effect: read. `GET /api/apps/{app_id}/entity-schemas/{entity_name}`
   */
  getEntitySchema(args: GetEntitySchemaArgs, options?: CallOptions): Call<schemas.EntitySchema, GetEntitySchemaCodes>;

  /**
   * Create or replace an entity: the schema with its fields and rules.
   *
   * The response reports the impact on existing records. Rules say who may read, create, change and delete records, for example the owner alone. Existing records that violate the new schema stay readable and are validated when they are next written. `impact.violating_records` covers the newest 1,000 records. `impact.newly_open` has an example for each operation in which the new rules allow what the old ones refused. `X-Partial-Result` names a field of `impact` that may be incomplete. `expected_revision` is the revision of the stored schema, or 0 if it must not exist yet. `X-Warning: rule_missing:<ops>` lists the operations that are closed because they have no rule, joined by `+`, and `rule_open:<ops>` those that everybody may do because their rule is `true`.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entity-schemas/{entity_name}`
   */
  putEntitySchema(args: PutEntitySchemaArgs, options?: CallOptions): Call<schemas.EntitySchemaSaved, PutEntitySchemaCodes>;

  /**
   * Delete a schema; if requested, up to 5,000 records are moved to the trash first.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entity-schemas/{entity_name}`
   */
  deleteEntitySchema(args: DeleteEntitySchemaArgs, options?: CallOptions): Call<schemas.Success, DeleteEntitySchemaCodes>;

  /**
   * Explain which clauses of the rules allow or deny an operation on a record, and what would allow it.
   *
   * Explains the decision for the caller, or for the person in `as`, about a stored record (`record_id`) or a proposed one (`record`). The operation is not performed. Values that the caller may not read are `•`, and results that depend on them are `hidden`.
   *
   * Effect: read. `POST /api/apps/{app_id}/entity-schemas/{entity_name}/rules/explain`
   */
  explainRules(args: ExplainRulesArgs, options?: CallOptions): Call<schemas.RuleExplanation, ExplainRulesCodes>;

  /**
   * List the records of an entity that the caller may read, newest first.
   *
   * `q` is a filter as JSON. Any other parameter names a field and the value that it must have. A cursor contains the filter, sort and fields. A page ends early if its data would exceed 1 MiB.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}`
   */
  listRecords(args: ListRecordsArgs, options?: CallOptions): PagedCall<schemas.ListRecordsResult, ListRecordsCodes, schemas.ListRecordsResult['items'][number]>;

  /**
   * Create a record of an entity.
   *
   * Adds one record. For many at once, use `createRecords`.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}`
   */
  createRecord(args: CreateRecordArgs, options?: CallOptions): Call<schemas.EntityRecord, CreateRecordCodes>;

  /**
   * Delete all records that match a query: move them to the trash, up to 5,000 and 64 MiB.
   *
   * Only records that the caller may read and that the delete rule allows are deleted. `X-Truncated` is sent if there are more.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entities/{entity_name}`
   */
  deleteRecords(args: DeleteRecordsArgs, options?: CallOptions): Call<schemas.RecordsDeleted, DeleteRecordsCodes>;

  /**
   * Count how many records of an entity there are that the caller may read.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}/count`
   */
  countRecords(args: CountRecordsArgs, options?: CallOptions): Call<schemas.RecordCount, CountRecordsCodes>;

  /**
   * List all records of an entity with their creators, newest first; rules do not apply.
   *
   * For editors of the app, who decide about its rules. Fields with read rules are included. To see what a user of the app sees, use `listRecords` with a token of that user.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}/all`
   */
  listAllRecords(args: ListAllRecordsArgs, options?: CallOptions): PagedCall<schemas.AllRecords, ListAllRecordsCodes, schemas.AllRecords['items'][number]>;

  /**
   * Read one record.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}/{entity_id}`
   */
  getRecord(args: GetRecordArgs, options?: CallOptions): Call<schemas.EntityRecord, GetRecordCodes>;

  /**
   * Update a record by merging the sent fields into it.
   *
   * A field that is not sent keeps its value; null clears it. Fields that the schema does not declare, and automatic fields, are ignored and listed in `X-Ignored-Fields`.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entities/{entity_name}/{entity_id}`
   */
  updateRecord(args: UpdateRecordArgs, options?: CallOptions): Call<schemas.EntityRecord, UpdateRecordCodes>;

  /**
   * Move a record to the trash, from which builders can restore it for 30 days.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entities/{entity_name}/{entity_id}`
   */
  deleteRecord(args: DeleteRecordArgs, options?: CallOptions): Call<schemas.Success, DeleteRecordCodes>;

  /**
   * Create many records at once, up to 500, all or nothing.
   *
   * To import more, send several requests.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}/bulk`
   */
  createRecords(args: CreateRecordsArgs, options?: CallOptions): Call<schemas.CreateRecordsResult, CreateRecordsCodes>;

  /**
   * Update up to 500 records, all or nothing.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entities/{entity_name}/bulk`
   */
  updateRecords(args: UpdateRecordsArgs, options?: CallOptions): Call<schemas.UpdateRecordsResult, UpdateRecordsCodes>;

  /**
   * Update the records whose key exists and create the others, all or nothing.
   *
   * Only records and key fields that the caller may read are used to find existing records.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}/upsert`
   */
  upsertRecords(args: UpsertRecordsArgs, options?: CallOptions): Call<schemas.RecordsUpserted, UpsertRecordsCodes>;

  /**
   * Restore a record from the trash; rules do not apply.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}/{entity_id}/restore`
   */
  restoreRecord(args: RestoreRecordArgs, options?: CallOptions): Call<schemas.EntityRecord, RestoreRecordCodes>;

  /**
   * Delete a record permanently; rules do not apply.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entities/{entity_name}/{entity_id}/permanent`
   */
  purgeRecord(args: PurgeRecordArgs, options?: CallOptions): Call<schemas.Success, PurgeRecordCodes>;

  /**
   * List the agents of the workspace that the caller can see.
   *
   * Effect: read. `GET /api/agents`
   */
  listAgents(args?: ListAgentsArgs, options?: CallOptions): PagedCall<schemas.ListAgentsResult, ListAgentsCodes, schemas.ListAgentsResult['items'][number]>;

  /**
   * Create an agent.
   *
   * Effect: change. `POST /api/agents`
   */
  createAgent(args: CreateAgentArgs, options?: CallOptions): Call<schemas.Agent, CreateAgentCodes>;

  /**
   * Read one agent.
   *
   * Effect: read. `GET /api/agents/{agent_id}`
   */
  getAgent(args: GetAgentArgs, options?: CallOptions): Call<schemas.Agent, GetAgentCodes>;

  /**
   * Change an agent; fields that are not sent keep their value.
   *
   * To change fields that all apps have (slug, visibility, owner and so on), use `updateApp`.
   *
   * Effect: change. `PATCH /api/agents/{agent_id}`
   */
  updateAgent(args: UpdateAgentArgs, options?: CallOptions): Call<schemas.Agent, UpdateAgentCodes>;

  /**
   * Move an agent to the trash; it can be restored for 30 days.
   *
   * The agent's campaigns are paused first, and stay paused if the agent is restored. If the ad platform does not confirm the pause, the response is 409 `ad_platform_timeout`, and the agent is kept.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}`
   */
  deleteAgent(args: DeleteAgentArgs, options?: CallOptions): Call<schemas.Success, DeleteAgentCodes>;

  /**
   * Create the caller's conversation with an agent.
   *
   * Each person has at most one conversation with an agent. A repeated call returns it unchanged (`X-Changed: false`), with the metadata of the first call.
   *
   * Effect: change. `POST /api/agents/{agent_id}/conversations`
   */
  createConversation(args: CreateConversationArgs, options?: CallOptions): Call<schemas.Conversation, CreateConversationCodes>;

  /**
   * List the caller's own conversations with an agent, without their messages.
   *
   * Effect: read. `GET /api/agents/{agent_id}/conversations`
   */
  listConversations(args: ListConversationsArgs, options?: CallOptions): Call<schemas.ListConversationsResult, ListConversationsCodes>;

  /**
   * Read the caller's own conversation with its newest messages, or those before a given one, oldest first.
   *
   * Effect: read. `GET /api/agents/{agent_id}/conversations/{conversation_id}`
   */
  getConversation(args: GetConversationArgs, options?: CallOptions): Call<schemas.Conversation, GetConversationCodes>;

  /**
   * Send a message or a question to an agent and get its answer.
   *
   * Responds when the reply is complete, after at most 5 minutes. With `Accept: text/event-stream` the reply is streamed. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.
   *
   * Effect: spend. `POST /api/agents/{agent_id}/conversations/{conversation_id}/messages`
   */
  sendAgentMessage(args: SendAgentMessageArgs, options?: CallOptions): StreamedCall<schemas.AgentMessage, SendAgentMessageCodes, SendAgentMessageEvent>;

  /**
   * Delete a message of the caller's own conversation.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}/conversations/{conversation_id}/messages/{message_id}`
   */
  deleteAgentMessage(args: DeleteAgentMessageArgs, options?: CallOptions): Call<schemas.Success, DeleteAgentMessageCodes>;

  /**
   * List an agent's memories about the caller and its global memories.
   *
   * Effect: read. `GET /api/agents/{agent_id}/memory`
   */
  listMemories(args: ListMemoriesArgs, options?: CallOptions): PagedCall<schemas.ListMemoriesResult, ListMemoriesCodes, schemas.ListMemoriesResult['items'][number]>;

  /**
   * Delete a memory about the caller.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}/memory/{memory_id}`
   */
  deleteMemory(args: DeleteMemoryArgs, options?: CallOptions): Call<schemas.Success, DeleteMemoryCodes>;

  /**
   * List the automations of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/automations`
   */
  listAutomations(args: ListAutomationsArgs, options?: CallOptions): PagedCall<schemas.ListAutomationsResult, ListAutomationsCodes, schemas.ListAutomationsResult['items'][number]>;

  /**
   * Create an automation, which performs one action when records change or at certain times.
   *
   * Effect: change. `POST /api/apps/{app_id}/automations`
   */
  createAutomation(args: CreateAutomationArgs, options?: CallOptions): Call<schemas.Automation, CreateAutomationCodes>;

  /**
   * Change an automation; fields that are not sent keep their value.
   *
   * `is_active: true` resets `consecutive_failures`. `action` and `schedule` are replaced as a whole.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/automations/{automation_id}`
   */
  updateAutomation(args: UpdateAutomationArgs, options?: CallOptions): Call<schemas.Automation, UpdateAutomationCodes>;

  /**
   * Delete an automation; its pending runs no longer do anything.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/automations/{automation_id}`
   */
  deleteAutomation(args: DeleteAutomationArgs, options?: CallOptions): Call<schemas.Success, DeleteAutomationCodes>;

  /**
   * List the services that an app can be connected to, by type.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/available-integrations`
   */
  listConnectors(args: ListConnectorsArgs, options?: CallOptions): PagedCall<schemas.ListConnectorsResult, ListConnectorsCodes, schemas.ListConnectorsResult['items'][number]>;

  /**
   * Get the fields that a service needs before it is connected, and their saved values.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/connection-config/{integration_type}`
   */
  getConnectionConfig(args: GetConnectionConfigArgs, options?: CallOptions): Call<schemas.ConnectionFields, GetConnectionConfigCodes>;

  /**
   * Get the status of the latest attempt to connect a service.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/status`
   */
  getConnectionStatus(args: GetConnectionStatusArgs, options?: CallOptions): Call<schemas.ConnectionStatus, GetConnectionStatusCodes>;

  /**
   * List the connections of an app, by type.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/list`
   */
  listConnections(args: ListConnectionsArgs, options?: CallOptions): PagedCall<schemas.ListConnectionsResult, ListConnectionsCodes, schemas.ListConnectionsResult['items'][number]>;

  /**
   * Start connecting a service; the person must open redirect_url within ten minutes.
   *
   * Services with API keys are connected immediately. Check `error` and `already_authorized`: the status is 200 in both cases.
   *
   * Effect: change. `POST /api/apps/{app_id}/external-auth/initiate`
   */
  startConnection(args: StartConnectionArgs, options?: CallOptions): Call<schemas.ConnectionStart, StartConnectionCodes>;

  /**
   * Replace the scopes of a connection; wider scopes need consent at redirect_url.
   *
   * Effect: change. `PUT /api/apps/{app_id}/external-auth/integrations/{integration_type}`
   */
  setConnectorScopes(args: SetConnectorScopesArgs, options?: CallOptions): Call<schemas.ConnectionStart, SetConnectorScopesCodes>;

  /**
   * Erase the tokens of a connection, and revoke them at the service if it is reachable.
   *
   * Effect: change. `POST /api/apps/{app_id}/external-auth/integrations/{integration_type}/disconnect`
   */
  disconnectConnector(args: DisconnectConnectorArgs, options?: CallOptions): Call<schemas.Disconnected, DisconnectConnectorCodes>;

  /**
   * Remove a connection: its tokens, as when disconnecting, and its configuration.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/external-auth/integrations/{integration_type}/remove`
   */
  removeConnector(args: RemoveConnectorArgs, options?: CallOptions): Call<schemas.ConnectorRemoved, RemoveConnectorCodes>;

  /**
   * Send events that record what people do in an app.
   *
   * An invalid event is rejected with a reason, and the others are stored. For 60 days, an event with the same `event_id` is a duplicate. Events from an app user are attributed to that user, and events from anonymous callers to nobody. `__user_heartbeat_event__` only shows that the user is active.
   *
   * Effect: change. `POST /api/apps/{app_id}/analytics/track/batch`
   */
  trackEvents(args: TrackEventsArgs, options?: CallOptions): Call<schemas.TrackedEvents, TrackEventsCodes>;

  /**
   * Count the users of an app by when they were last seen.
   *
   * Each user is counted once, by their most recent event; `live_users` counts users by their heartbeats. A count that could not be read is 0, and `X-Partial-Result` names it.
   *
   * Effect: read. `GET /api/apps/{app_id}/analytics/stats/users`
   */
  getUserStats(args: GetUserStatsArgs, options?: CallOptions): Call<schemas.UserStats, GetUserStatsCodes>;

  /**
   * List the names of the events of the last 60 days, the most frequent first.
   *
   * Effect: read. `GET /api/apps/{app_id}/analytics/event-names`
   */
  listEventNames(args: ListEventNamesArgs, options?: CallOptions): PagedCall<schemas.ListEventNamesResult, ListEventNamesCodes, schemas.ListEventNamesResult['items'][number]>;

  /**
   * List events of one name that match a filter, newest first.
   *
   * Send the same body with `cursor` for the next page. A page ends early if its events would exceed 1 MiB.
   *
   * Effect: read. `POST /api/apps/{app_id}/analytics/events/query`
   */
  queryEvents(args: QueryEventsArgs, options?: CallOptions): PagedCall<schemas.QueryEventsResult, QueryEventsCodes, schemas.QueryEventsResult['items'][number]>;

  /**
   * Count, add up or average events over time, as JSON or as a chart.
   *
   * With `Accept: image/svg+xml`, the response is a chart as an SVG image.
   *
   * Effect: read. `POST /api/apps/{app_id}/analytics/aggregate/time`
   */
  aggregateOverTime(args: AggregateOverTimeArgs, options?: CallOptions): Call<schemas.EventsOverTime, AggregateOverTimeCodes> & Formats<'image/svg+xml'>;

  /**
   * Group events by the values of fields, the largest groups first.
   *
   * Effect: read. `POST /api/apps/{app_id}/analytics/aggregate/field`
   */
  aggregateByField(args: AggregateByFieldArgs, options?: CallOptions): Call<schemas.EventGroups, AggregateByFieldCodes>;

  /**
   * Read how the workspace pays for advertising, and whether it is on billing hold.
   *
   * Effect: read. `GET /api/workspace/billing`
   */
  getBilling(args?: GetBillingArgs, options?: CallOptions): Call<schemas.Billing, GetBillingCodes>;

  /**
   * Create a page at the payment provider where the owner enters a card.
   *
   * Effect: change. `POST /api/workspace/billing/setup-session`
   */
  startBillingSetup(args?: StartBillingSetupArgs, options?: CallOptions): Call<schemas.BillingSetup, StartBillingSetupCodes>;

  /**
   * Read an app's advertising account, with a status that is at most a minute old.
   *
   * If the ad platform does not answer, the last known status is returned with `X-Partial-Result: live_status`.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/accounts`
   */
  getAdsAccount(args: GetAdsAccountArgs, options?: CallOptions): Call<schemas.AdsAccount, GetAdsAccountCodes>;

  /**
   * Create an app's advertising account if it has none, without a campaign and free of charge.
   *
   * After 409 `ad_platform_timeout`, send the request again. An app never gets a second account.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/accounts/ensure-for-tracking`
   */
  ensureTrackingAccount(args: EnsureTrackingAccountArgs, options?: CallOptions): Call<schemas.AdsAccount, EnsureTrackingAccountCodes>;

  /**
   * Read whether a campaign can be launched now, and what prevents it.
   *
   * The payment provider and the landing page are checked on each request, the ad platform at most once a minute. `X-Data-As-Of` says when the advertising account was read, if not during this request. `X-Partial-Result` names what could not be read.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/launch-readiness`
   */
  getLaunchReadiness(args: GetLaunchReadinessArgs, options?: CallOptions): Call<schemas.LaunchReadiness, GetLaunchReadinessCodes>;

  /**
   * Read the smallest and the largest daily budget that a campaign can have.
   *
   * No advertising account is needed. The ad platform may require a higher minimum.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns/budget-boundaries`
   */
  getBudgetBoundaries(args: GetBudgetBoundariesArgs, options?: CallOptions): Call<schemas.BudgetBoundaries, GetBudgetBoundariesCodes>;

  /**
   * List the conversion actions of an app's advertising account, newest first.
   *
   * The ad platform publishes the id and the label of an action a few seconds after it was created.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/conversion-actions`
   */
  listConversionActions(args: ListConversionActionsArgs, options?: CallOptions): PagedCall<schemas.ListConversionActionsResult, ListConversionActionsCodes, schemas.ListConversionActionsResult['items'][number]>;

  /**
   * List the conversion mappings of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/conversion-mappings`
   */
  listConversionMappings(args: ListConversionMappingsArgs, options?: CallOptions): PagedCall<schemas.ListConversionMappingsResult, ListConversionMappingsCodes, schemas.ListConversionMappingsResult['items'][number]>;

  /**
   * Create a conversion mapping: a change to records that counts as a conversion.
   *
   * The app itself must report conversions. To install the calls, use `buildBootstrapPrompt`.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/conversion-mappings`
   */
  createConversionMapping(args: CreateConversionMappingArgs, options?: CallOptions): Call<schemas.ConversionMapping, CreateConversionMappingCodes>;

  /**
   * Change a conversion mapping; fields that are not sent, or null, keep their value.
   *
   * An empty string clears `conversion_action_id`, `value_field` or `currency_field`.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/ads-platform/conversion-mappings/{mapping_id}`
   */
  updateConversionMapping(args: UpdateConversionMappingArgs, options?: CallOptions): Call<schemas.ConversionMapping, UpdateConversionMappingCodes>;

  /**
   * Delete a conversion mapping; calls in the app stay until you remove them.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/ads-platform/conversion-mappings/{mapping_id}`
   */
  deleteConversionMapping(args: DeleteConversionMappingArgs, options?: CallOptions): Call<schemas.Success, DeleteConversionMappingCodes>;

  /**
   * Read the base tag for an app's pages, with the id of its account.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/tracking-script`
   */
  getTrackingScript(args: GetTrackingScriptArgs, options?: CallOptions): Call<schemas.TrackingScript, GetTrackingScriptCodes>;

  /**
   * Find what an app's files lack for conversion tracking.
   *
   * The scan reads the published files, or the current ones if the app is not published. It changes nothing. `X-Partial-Result: gaps` means that some files could not be read; `X-Warning` names them.
   *
   * Effect: read. `POST /api/apps/{app_id}/ads-platform/tracking-scan`
   */
  scanTracking(args: ScanTrackingArgs, options?: CallOptions): Call<schemas.TrackingScan, ScanTrackingCodes>;

  /**
   * Create the conversion goals that are missing, and write the instruction that installs tracking.
   *
   * Goals can't be removed with this API. Send `composer_prompt` with `sendChatMessage`. With `wire_events` and enabled mappings, the request reads their tags up to five times, a second apart.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/tracking-scan/build-bootstrap-prompt`
   */
  buildBootstrapPrompt(args: BuildBootstrapPromptArgs, options?: CallOptions): Call<schemas.BootstrapPrompt, BuildBootstrapPromptCodes>;

  /**
   * Verify in a browser that the published app tracks conversions, and enable the campaigns that wait for this.
   *
   * Plinth does the same after an app was published, and every 15 minutes while a campaign waits. `X-Partial-Result: enabled_campaign_ids` means that some campaigns are not confirmed yet. `X-Partial-Result: checks` means that a check was inconclusive, for example because the browser did not start or the app changed during the check. The last result is then kept.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/tracking-verify`
   */
  verifyTracking(args: VerifyTrackingArgs, options?: CallOptions): Call<schemas.TrackingVerification, VerifyTrackingCodes>;

  /**
   * Suggest search themes for a Performance Max campaign; nothing is saved.
   *
   * The themes are in the language of `Accept-Language`, or in English. If the language model is unavailable, the list is empty, with `X-Partial-Result: search_themes`. The request costs 0.1 credits, or nothing if the list is empty.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/suggestions/search-themes`
   */
  suggestSearchThemes(args: SuggestSearchThemesArgs, options?: CallOptions): Call<schemas.SearchThemes, SuggestSearchThemesCodes>;

  /**
   * Generate the texts and images of ads for an app.
   *
   * The request waits for at most 30 seconds. Images that are not ready by then are counted in `background_image_count`; the `session` list of listAssets contains all images once the last one is ready. The request costs 2 credits, and 0.5 for each image.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/assets/generate`
   */
  generateAssets(args: GenerateAssetsArgs, options?: CallOptions): Call<schemas.GeneratedAssets, GenerateAssetsCodes>;

  /**
   * List the texts and images that were generated for an app or by one generation, and those of a campaign.
   *
   * With `session_id`, the response has the list `session`, which is empty while the generation is running and from 24 hours after it began. Without `session_id`, it has the list `library` of the 5,000 most recent assets, newest first, with `X-Truncated: true` if there are more. With `campaign_id`, it also has the list `durable` of the campaign's current assets at the ad platform, the headers `RateLimit` and `RateLimit-Policy`, and a limit of 60 requests per minute. If the caller can't see the app, the status is 403.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/assets`
   */
  listAssets(args: ListAssetsArgs, options?: CallOptions): Call<schemas.AssetLists, ListAssetsCodes>;

  /**
   * Add a generated text or image to a Performance Max campaign.
   *
   * Returns 200 once the ad platform has the asset. After 409 `ad_platform_timeout`, Plinth keeps trying until the platform answers. No asset is added twice.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/assets/{session_asset_id}/accept`
   */
  acceptAsset(args: AcceptAssetArgs, options?: CallOptions): Call<schemas.LibraryAsset, AcceptAssetCodes>;

  /**
   * Fetch a generated image.
   *
   * The address is the `image_url` of an image. It needs no credential, so the ad platform can fetch it. The name of an image cannot be guessed.
   *
   * Effect: read. `GET /api/ads-platform/images/{file}`
   */
  getAdImage(args: GetAdImageArgs, options?: CallOptions): Call<Uint8Array, GetAdImageCodes>;

  /**
   * Pause all campaigns of an app at once.
   *
   * The request waits for at most 45 seconds. A campaign whose pause is not confirmed by then is listed in `failed`, and Plinth keeps trying until the ad platform confirms it.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/campaigns/pause-all`
   */
  pauseAllCampaigns(args: PauseAllCampaignsArgs, options?: CallOptions): Call<schemas.PausedCampaigns, PauseAllCampaignsCodes>;

  /**
   * Change one field of a campaign.
   *
   * A value must follow the rules of launchCampaign. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform answers.
   *
   * Effect: spend. `PATCH /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}`
   */
  updateCampaign(args: UpdateCampaignArgs, options?: CallOptions): Call<schemas.Campaign, UpdateCampaignCodes>;

  /**
   * Delete a campaign forever; it stays in the list with its cost.
   *
   * To stop a campaign temporarily, pause it instead. While the launch of the campaign is not confirmed, the deletion is recorded and carried out after the launch. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform confirms the deletion.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}`
   */
  deleteCampaign(args: DeleteCampaignArgs, options?: CallOptions): Call<schemas.DeletedCampaign, DeleteCampaignCodes>;

  /**
   * Read a campaign with its current statuses.
   *
   * If the ad platform does not answer within 5 seconds, the last known statuses are returned with `X-Partial-Result: live_status`, and with their time in `X-Data-As-Of`.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}`
   */
  getCampaign(args: GetCampaignArgs, options?: CallOptions): Call<schemas.Campaign, GetCampaignCodes>;

  /**
   * Pause a campaign; it spends nothing until it is resumed.
   *
   * The request can be repeated. While the launch of the campaign is not confirmed, the pause is recorded and carried out after the launch, which then does not enable the campaign. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform confirms the pause.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}/pause`
   */
  pauseCampaign(args: PauseCampaignArgs, options?: CallOptions): Call<schemas.PausedCampaign, PauseCampaignCodes>;

  /**
   * Resume a campaign; it can spend from then on.
   *
   * Returns 200 only if the ad platform has confirmed that the campaign is enabled. After 409 `ad_platform_timeout`, Plinth keeps trying for at most 15 minutes, unless the campaign is paused in that time.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}/resume`
   */
  resumeCampaign(args: ResumeCampaignArgs, options?: CallOptions): Call<schemas.ResumedCampaign, ResumeCampaignCodes>;

  /**
   * Search the locations that ads can be shown in, best match first.
   *
   * Case and accents make no difference. A query of one or two characters finds only names that begin with it; an empty query returns the locations with the largest reach. No advertising account is needed.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/geo-targets/search`
   */
  searchGeoTargets(args: SearchGeoTargetsArgs, options?: CallOptions): Call<schemas.SearchGeoTargetsResult, SearchGeoTargetsCodes>;

  /**
   * List an app's campaigns with their metrics, newest first.
   *
   * The list includes deleted campaigns and, with the reason `SERVICE_LAUNCH_UNCONFIRMED`, those whose launch is not confirmed. `X-Data-As-Of` says when the oldest status was read. If the ad platform does not answer, the last known metrics are returned with `X-Partial-Result: metrics`.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns`
   */
  listCampaigns(args: ListCampaignsArgs, options?: CallOptions): PagedCall<schemas.ListCampaignsResult, ListCampaignsCodes, schemas.ListCampaignsResult['items'][number]>;

  /**
   * Create a campaign in the app's advertising account; this starts spending.
   *
   * Works like launchCampaign, for an app that already has an advertising account.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/campaigns`
   */
  createCampaign(args: CreateCampaignArgs, options?: CallOptions): Call<schemas.Campaign, CreateCampaignCodes>;

  /**
   * Compare all campaigns with the ad platform, and add those that are not listed yet.
   *
   * Only Smart and Performance Max campaigns are added. If the ad platform has more campaigns than Plinth reads, the rest are missing and the response has `X-Truncated: true`.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/campaigns/sync`
   */
  syncCampaigns(args: SyncCampaignsArgs, options?: CallOptions): Call<schemas.CampaignSync, SyncCampaignsCodes>;

  /**
   * Read the requests to the ad platform for a campaign, with their outcomes.
   *
   * Returns the last 1,000 steps, with `X-Truncated: true` if there are more. For a campaign that was found at the ad platform, `launch_id` is null.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}/journal`
   */
  getCampaignJournal(args: GetCampaignJournalArgs, options?: CallOptions): Call<schemas.LaunchJournal, GetCampaignJournalCodes>;

  /**
   * List what people searched for when they saw an app's ads.
   *
   * Returns at most 100 rows, most impressions first. `X-Date-Range` contains the days that the report covers, in the account's time zone. `X-Partial-Result` names the kinds of campaigns that could not be read: `search`, `performance_max` or `smart`. Without an advertising account, the list is empty.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/analytics/search-terms`
   */
  getSearchTerms(args: GetSearchTermsArgs, options?: CallOptions): Call<schemas.GetSearchTermsResult, GetSearchTermsCodes>;

  /**
   * Launch a campaign, and create the app's advertising account if it has none; this starts spending.
   *
   * The campaign is created paused. It is enabled once it is in the campaign list, if conversion tracking is verified and `start_paused` is not set. After 409 `ad_platform_timeout`, the campaign may be live and spending: don't send the request again, but call listCampaigns or getLaunch. The same draft never creates a second campaign.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/launch`
   */
  launchCampaign(args: LaunchCampaignArgs, options?: CallOptions): Call<schemas.LaunchedCampaign, LaunchCampaignCodes>;

  /**
   * Read a launch: its state, each request to the ad platform with its outcome, and what to do next.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/launches/{launch_id}`
   */
  getLaunch(args: GetLaunchArgs, options?: CallOptions): Call<schemas.LaunchJournal, GetLaunchCodes>;

  /**
   * Read how much app editors may have campaigns spend a day.
   *
   * Effect: read. `GET /api/workspace/ads-ceilings`
   */
  getAdsCeilings(args?: GetAdsCeilingsArgs, options?: CallOptions): Call<schemas.AdsCeilings, GetAdsCeilingsCodes>;

  /**
   * Set how much app editors may have campaigns spend a day.
   *
   * Running campaigns continue, whatever their budgets.
   *
   * Effect: change. `PUT /api/workspace/ads-ceilings`
   */
  putAdsCeilings(args: PutAdsCeilingsArgs, options?: CallOptions): Call<schemas.AdsCeilings, PutAdsCeilingsCodes>;

  /**
   * List the webhooks of an agent, newest first.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks`
   */
  listAgentWebhooks(args: ListAgentWebhooksArgs, options?: CallOptions): Call<schemas.ListAgentWebhooksResult, ListAgentWebhooksCodes>;

  /**
   * Create a webhook on an agent, to be told when a message is added or completed.
   *
   * Deliveries are signed unless `generate_secret` is false. The response contains the `secret`, which is never shown again. Nothing is sent for a webhook with `mode: "pull"`: its deliveries wait until a program has read and acknowledged them.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks`
   */
  createAgentWebhook(args: CreateAgentWebhookArgs, options?: CallOptions): Call<schemas.Webhook, CreateAgentWebhookCodes>;

  /**
   * Read one webhook of an agent.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}`
   */
  getAgentWebhook(args: GetAgentWebhookArgs, options?: CallOptions): Call<schemas.Webhook, GetAgentWebhookCodes>;

  /**
   * Change a webhook of an agent; fields that are not sent keep their value.
   *
   * `enabled: true` turns the webhook on, resets `consecutive_failures` and sends held deliveries. The header `X-Webhook-Held` is the number of held deliveries that are sent, `X-Webhook-Missed` the number of missed ones; a replay sends those. `signing: rotate` creates a new secret, shown once in `secret`; the previous one still signs for 24 hours. Either the whole body is applied or nothing.
   *
   * Effect: change. `PATCH /api/agents/{agent_id}/webhooks/{webhook_id}`
   */
  updateAgentWebhook(args: UpdateAgentWebhookArgs, options?: CallOptions): Call<schemas.Webhook, UpdateAgentWebhookCodes>;

  /**
   * Delete a webhook of an agent and its delivery log; deliveries stop at once.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}/webhooks/{webhook_id}`
   */
  deleteAgentWebhook(args: DeleteAgentWebhookArgs, options?: CallOptions): Call<schemas.Success, DeleteAgentWebhookCodes>;

  /**
   * Test a webhook of an agent: send a sample event now and return the response.
   *
   * The test works while the webhook is off, uses no sequence number, and does not change the webhook.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/test`
   */
  testAgentWebhook(args: TestAgentWebhookArgs, options?: CallOptions): Call<schemas.WebhookTest, TestAgentWebhookCodes>;

  /**
   * List or find deliveries of a webhook of an agent, by status, event and time.
   *
   * To find those that failed, send `status=failed`. Deliveries are ordered by sequence number, newest first, or oldest first if `after_seq` is sent, and are kept for 30 days.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries`
   */
  listAgentDeliveries(args: ListAgentDeliveriesArgs, options?: CallOptions): PagedCall<schemas.ListAgentDeliveriesResult, ListAgentDeliveriesCodes, schemas.ListAgentDeliveriesResult['items'][number]>;

  /**
   * Follow the deliveries of a webhook of an agent as a stream of events, with what is signed.
   *
   * Begins after `after_seq`, or after `Last-Event-ID`. Without both it begins with the oldest delivery that is not acknowledged, if the webhook is a pull webhook, and otherwise with the next one. Ends after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/stream`
   */
  streamAgentDeliveries(args: StreamAgentDeliveriesArgs, options?: CallOptions): StreamedCall<never, StreamAgentDeliveriesCodes, StreamAgentDeliveriesEvent>;

  /**
   * Acknowledge the deliveries of a pull webhook of an agent up to a number.
   *
   * They become `delivered`. Repeats have no further effect. A call acknowledges at most 100,000 deliveries, the oldest ones; repeat it until `acknowledged` is 0.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/ack`
   */
  ackAgentDeliveries(args: AckAgentDeliveriesArgs, options?: CallOptions): Call<schemas.DeliveriesAcknowledged, AckAgentDeliveriesCodes>;

  /**
   * Read one delivery of a webhook of an agent, with its payload and its attempts.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/{delivery_id}`
   */
  getAgentDelivery(args: GetAgentDeliveryArgs, options?: CallOptions): Call<schemas.WebhookDeliveryInFull, GetAgentDeliveryCodes>;

  /**
   * Send one delivery of a webhook of an agent again immediately, outside its schedule.
   *
   * The delivery id, sequence number and body stay the same.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver`
   */
  redeliverAgentDelivery(args: RedeliverAgentDeliveryArgs, options?: CallOptions): Call<schemas.Redelivered, RedeliverAgentDeliveryCodes>;

  /**
   * Send failed and missed deliveries of a webhook of an agent again, in sequence order.
   *
   * At most ten deliveries are sent per second. Their ids, sequence numbers and bodies stay the same; each delivery starts a new retry schedule. `statuses` may also contain `delivered` and `expired`.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/replay`
   */
  replayAgentWebhook(args: ReplayAgentWebhookArgs, options?: CallOptions): Call<schemas.Replayed, ReplayAgentWebhookCodes>;

  /**
   * List the webhooks of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks`
   */
  listAppWebhooks(args: ListAppWebhooksArgs, options?: CallOptions): Call<schemas.ListAppWebhooksResult, ListAppWebhooksCodes>;

  /**
   * Create a webhook on an app, to be told when a record changes.
   *
   * Deliveries are signed unless `generate_secret` is false. The response contains the `secret`, which is never shown again. Nothing is sent for a webhook with `mode: "pull"`: its deliveries wait until a program has read and acknowledged them.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks`
   */
  createAppWebhook(args: CreateAppWebhookArgs, options?: CallOptions): Call<schemas.AppWebhook, CreateAppWebhookCodes>;

  /**
   * Read one webhook of an app.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}`
   */
  getAppWebhook(args: GetAppWebhookArgs, options?: CallOptions): Call<schemas.AppWebhook, GetAppWebhookCodes>;

  /**
   * Change a webhook of an app; fields that are not sent keep their value.
   *
   * `enabled: true` turns the webhook on, resets `consecutive_failures` and sends held deliveries. The header `X-Webhook-Held` is the number of held deliveries that are sent, `X-Webhook-Missed` the number of missed ones; a replay sends those. `signing: rotate` creates a new secret, shown once in `secret`; the previous one still signs for 24 hours. Either the whole body is applied or nothing.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/webhooks/{webhook_id}`
   */
  updateAppWebhook(args: UpdateAppWebhookArgs, options?: CallOptions): Call<schemas.AppWebhook, UpdateAppWebhookCodes>;

  /**
   * Delete a webhook of an app and its delivery log; deliveries stop at once.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/webhooks/{webhook_id}`
   */
  deleteAppWebhook(args: DeleteAppWebhookArgs, options?: CallOptions): Call<schemas.Success, DeleteAppWebhookCodes>;

  /**
   * Test a webhook of an app: send a sample event now and return the response.
   *
   * The test works while the webhook is off, uses no sequence number, and does not change the webhook.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/test`
   */
  testAppWebhook(args: TestAppWebhookArgs, options?: CallOptions): Call<schemas.WebhookTest, TestAppWebhookCodes>;

  /**
   * List or find deliveries of a webhook of an app, by status, event and time.
   *
   * To find those that failed, send `status=failed`. Deliveries are ordered by sequence number, newest first, or oldest first if `after_seq` is sent, and are kept for 30 days.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}/deliveries`
   */
  listAppDeliveries(args: ListAppDeliveriesArgs, options?: CallOptions): PagedCall<schemas.ListAppDeliveriesResult, ListAppDeliveriesCodes, schemas.ListAppDeliveriesResult['items'][number]>;

  /**
   * Follow the deliveries of a webhook of an app as a stream of events, with what is signed.
   *
   * Begins after `after_seq`, or after `Last-Event-ID`. Without both it begins with the oldest delivery that is not acknowledged, if the webhook is a pull webhook, and otherwise with the next one. Ends after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/stream`
   */
  streamAppDeliveries(args: StreamAppDeliveriesArgs, options?: CallOptions): StreamedCall<never, StreamAppDeliveriesCodes, StreamAppDeliveriesEvent>;

  /**
   * Acknowledge the deliveries of a pull webhook of an app up to a number.
   *
   * They become `delivered`. Repeats have no further effect. A call acknowledges at most 100,000 deliveries, the oldest ones; repeat it until `acknowledged` is 0.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/ack`
   */
  ackAppDeliveries(args: AckAppDeliveriesArgs, options?: CallOptions): Call<schemas.DeliveriesAcknowledged, AckAppDeliveriesCodes>;

  /**
   * Read one delivery of a webhook of an app, with its payload and its attempts.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/{delivery_id}`
   */
  getAppDelivery(args: GetAppDeliveryArgs, options?: CallOptions): Call<schemas.WebhookDeliveryInFull, GetAppDeliveryCodes>;

  /**
   * Send one delivery of a webhook of an app again immediately, outside its schedule.
   *
   * The delivery id, sequence number and body stay the same.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver`
   */
  redeliverAppDelivery(args: RedeliverAppDeliveryArgs, options?: CallOptions): Call<schemas.Redelivered, RedeliverAppDeliveryCodes>;

  /**
   * Send failed and missed deliveries of a webhook of an app again, in sequence order.
   *
   * At most ten deliveries are sent per second. Their ids, sequence numbers and bodies stay the same; each delivery starts a new retry schedule. `statuses` may also contain `delivered` and `expired`.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/replay`
   */
  replayAppWebhook(args: ReplayAppWebhookArgs, options?: CallOptions): Call<schemas.Replayed, ReplayAppWebhookCodes>;

  /**
   * List the webhooks that a member created in the workspace, newest first.
   *
   * Lists the webhooks of all agents and apps, including those in the trash. Works for a former member who created webhooks, too.
   *
   * Effect: read. `GET /api/workspace/members/{email}/webhooks`
   */
  listMemberWebhooks(args: ListMemberWebhooksArgs, options?: CallOptions): PagedCall<schemas.ListMemberWebhooksResult, ListMemberWebhooksCodes, schemas.ListMemberWebhooksResult['items'][number]>;

  /**
   * List an app's workflows, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows`
   */
  listWorkflows(args: ListWorkflowsArgs, options?: CallOptions): PagedCall<schemas.ListWorkflowsResult, ListWorkflowsCodes, schemas.ListWorkflowsResult['items'][number]>;

  /**
   * Create a workflow, which becomes active immediately.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows`
   */
  createWorkflow(args: CreateWorkflowArgs, options?: CallOptions): Call<schemas.Workflow, CreateWorkflowCodes>;

  /**
   * Check a definition and a trigger without saving them.
   *
   * If the definition is invalid, the response is 200 with `valid: false`.
   *
   * Effect: read. `POST /api/apps/{app_id}/workflows/validate-definition`
   */
  validateWorkflow(args: ValidateWorkflowArgs, options?: CallOptions): Call<schemas.WorkflowValidation, ValidateWorkflowCodes>;

  /**
   * Read a workflow with its definition.
   *
   * With `Accept: text/vnd.mermaid` the definition is returned as a flowchart.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}`
   */
  getWorkflow(args: GetWorkflowArgs, options?: CallOptions): Call<schemas.Workflow, GetWorkflowCodes> & Formats<'text/vnd.mermaid'>;

  /**
   * Change a workflow; fields that are not sent keep their value.
   *
   * A changed definition creates a new version. Runs that have already started keep their version.
   *
   * Effect: change. `PUT /api/apps/{app_id}/workflows/{workflow_id}`
   */
  updateWorkflow(args: UpdateWorkflowArgs, options?: CallOptions): Call<schemas.Workflow, UpdateWorkflowCodes>;

  /**
   * Archive a workflow; it can no longer be started, and runs that have started continue.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/workflows/{workflow_id}`
   */
  archiveWorkflow(args: ArchiveWorkflowArgs, options?: CallOptions): Call<schemas.Workflow, ArchiveWorkflowCodes>;

  /**
   * List the versions of a workflow's definition, newest first.
   *
   * The newest 100 versions are kept, as are versions that unfinished runs use. A page ends early at 2 MiB.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}/versions`
   */
  listWorkflowVersions(args: ListWorkflowVersionsArgs, options?: CallOptions): PagedCall<schemas.ListWorkflowVersionsResult, ListWorkflowVersionsCodes, schemas.ListWorkflowVersionsResult['items'][number]>;

  /**
   * Restore an archived workflow, which is then inactive.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/restore`
   */
  restoreWorkflow(args: RestoreWorkflowArgs, options?: CallOptions): Call<schemas.Workflow, RestoreWorkflowCodes>;

  /**
   * Turn a workflow on or off.
   *
   * If the workflow stays inactive, for example because its schedule has ended, `status_reason` says why.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/toggle-status`
   */
  toggleWorkflow(args: ToggleWorkflowArgs, options?: CallOptions): Call<schemas.WorkflowStatus, ToggleWorkflowCodes>;

  /**
   * Run a workflow now, with an input or with the input of an earlier run.
   *
   * Works with every trigger and status, unless the workflow is archived.
   *
   * Effect: spend. `POST /api/apps/{app_id}/workflows/{workflow_id}/run-now`
   */
  runWorkflow(args: RunWorkflowArgs, options?: CallOptions): Call<schemas.WorkflowRunStarted, RunWorkflowCodes>;

  /**
   * List the runs of an app's workflows, newest first.
   *
   * Runs are kept for 90 days after they end.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/runs`
   */
  listAppRuns(args: ListAppRunsArgs, options?: CallOptions): PagedCall<schemas.ListAppRunsResult, ListAppRunsCodes, schemas.ListAppRunsResult['items'][number]>;

  /**
   * List the runs of a workflow, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}/runs`
   */
  listWorkflowRuns(args: ListWorkflowRunsArgs, options?: CallOptions): PagedCall<schemas.ListWorkflowRunsResult, ListWorkflowRunsCodes, schemas.ListWorkflowRunsResult['items'][number]>;

  /**
   * Read a run with its steps.
   *
   * Includes the input and output of 100 steps: the last ones, or those from `values_from` on. `X-Partial-Result: step_values` means that others were left out. With `Accept: text/event-stream` the response follows the run; with `text/vnd.mermaid` it is a flowchart.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}`
   */
  getRun(args: GetRunArgs, options?: CallOptions): StreamedCall<schemas.WorkflowRun, GetRunCodes, GetRunEvent> & Formats<'text/vnd.mermaid'>;

  /**
   * Cancel a run; a wait ends immediately, a call after at most 30 seconds.
   *
   * A run that has already ended keeps its status, and the response has `X-Changed: false`.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}/cancel`
   */
  cancelRun(args: CancelRunArgs, options?: CallOptions): Call<schemas.WorkflowRunCancelled, CancelRunCodes>;

  /**
   * Explain why a run failed.
   *
   * The first call generates the explanation with the language model, free of charge, and stores it; later calls return the stored one. Both strings are empty if the model is unavailable. The headers are always sent, because they do not depend on the model.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}/analyze`
   */
  analyzeRun(args: AnalyzeRunArgs, options?: CallOptions): Call<schemas.WorkflowRunExplanation, AnalyzeRunCodes>;

  /**
   * Start the workflow that this URL belongs to.
   *
   * The URL is the `hook_url` of a workflow with the trigger `webhook`; its token is the credential. The run receives the body, the query and some headers.
   *
   * Effect: change. `POST /api/hooks/{hook_token}`
   */
  receiveHook(args: ReceiveHookArgs, options?: CallOptions): Call<schemas.HookReceived, ReceiveHookCodes>;

  /**
   * List one page of members and pending invitations.
   *
   * Returns members that match every filter. `credits_used`, `last_active` and `last_seen` may be up to a minute old; `X-Data-As-Of` says how old. A cursor that was not issued for the same query starts again at the first page (`X-Cursor: reset`).
   *
   * Effect: read. `POST /api/workspace/members/list`
   */
  listMembers(args?: ListMembersArgs, options?: CallOptions): PagedCall<schemas.WorkspaceMembers, ListMembersCodes, schemas.WorkspaceMembers['members'][number]>;

  /**
   * Change the role of a member or an invitation.
   *
   * A member who becomes a viewer loses their own credit limit, and their app shares become view-only.
   *
   * Effect: change. `PUT /api/workspace/members/{email}/role`
   */
  setMemberRole(args: SetMemberRoleArgs, options?: CallOptions): Call<schemas.WorkspaceMember, SetMemberRoleCodes>;

  /**
   * Block or unblock a member.
   *
   * Every request of a blocked member to the workspace is refused with `member_blocked`. Nothing is deleted, and unblocking restores access.
   *
   * Effect: change. `PUT /api/workspace/members/{email}/access`
   */
  setMemberAccess(args: SetMemberAccessArgs, options?: CallOptions): Call<schemas.WorkspaceMember, SetMemberAccessCodes>;

  /**
   * Set or remove a member's own monthly credit limit.
   *
   * Effect: change. `PUT /api/workspace/members/{email}/credit-limit`
   */
  setMemberCreditLimit(args: SetMemberCreditLimitArgs, options?: CallOptions): Call<schemas.WorkspaceMember, SetMemberCreditLimitCodes>;

  /**
   * Remove a member or cancel an invitation.
   *
   * The member's apps and agents are transferred to the workspace's owner. Their tokens and the workspace keys created with these are revoked; their shares and personal folders are deleted. With `pause_webhooks=true` the webhooks that they created are turned off; `X-Webhooks-Paused` says how many.
   *
   * Effect: remove. `DELETE /api/workspace/members/{email}`
   */
  removeMember(args: RemoveMemberArgs, options?: CallOptions): Call<schemas.Success, RemoveMemberCodes>;

  /**
   * Change the roles of up to 200 members or invitations, all or none.
   *
   * Effect: change. `PUT /api/workspace/members/bulk/role`
   */
  setMemberRoles(args: SetMemberRolesArgs, options?: CallOptions): Call<schemas.MembersChanged, SetMemberRolesCodes>;

  /**
   * Set the credit limits of up to 200 members, all or none.
   *
   * Effect: change. `PUT /api/workspace/members/bulk/credit-limit`
   */
  setMemberCreditLimits(args: SetMemberCreditLimitsArgs, options?: CallOptions): Call<schemas.MembersChanged, SetMemberCreditLimitsCodes>;

  /**
   * Remove several members or invitations, up to 200, all or none.
   *
   * With `pause_webhooks: true` the webhooks that these members created are turned off; `X-Webhooks-Paused` says how many.
   *
   * Effect: remove. `POST /api/workspace/members/bulk/remove`
   */
  removeMembers(args: RemoveMembersArgs, options?: CallOptions): Call<schemas.MembersChanged, RemoveMembersCodes>;

  /**
   * Set or remove the default credit limit of members.
   *
   * Effect: change. `PUT /api/workspace/default-credit-limit`
   */
  setDefaultCreditLimit(args: SetDefaultCreditLimitArgs, options?: CallOptions): Call<schemas.DefaultCreditLimit, SetDefaultCreditLimitCodes>;

  /**
   * Make another member the owner; the old owner becomes an admin.
   *
   * Effect: change. `POST /api/workspace/transfer-ownership`
   */
  transferOwnership(args: TransferOwnershipArgs, options?: CallOptions): Call<schemas.OwnershipTransferred, TransferOwnershipCodes>;

  /**
   * Invite a person by e-mail.
   *
   * The link works for 60 days. If mail is not configured or could not be sent, the response contains the link as `accept_url`.
   *
   * Effect: change. `POST /api/workspace/invitations/invite`
   */
  inviteMember(args: InviteMemberArgs, options?: CallOptions): Call<schemas.Invitation, InviteMemberCodes>;

  /**
   * Invite up to 50 people.
   *
   * If the plan does not include a requested role, nobody is invited. People who are already members or invited are listed in `failed`.
   *
   * Effect: change. `POST /api/workspace/invitations/bulk-invite`
   */
  inviteMembers(args: InviteMembersArgs, options?: CallOptions): Call<schemas.Invited, InviteMembersCodes>;

  /**
   * Send up to 50 invitations again, with new links.
   *
   * Works for pending and expired invitations, for example if the mail was lost. The old links stop working.
   *
   * Effect: change. `POST /api/workspace/invitations/resend`
   */
  resendInvitation(args: ResendInvitationArgs, options?: CallOptions): Call<schemas.Resent, ResendInvitationCodes>;

  /**
   * Read an invitation by the token of its link.
   *
   * The token is the part of the link after `#`.
   *
   * Effect: read. `POST /api/invitations/open`
   */
  openInvitation(args: OpenInvitationArgs, options?: CallOptions): Call<schemas.OpenedInvitation, OpenInvitationCodes>;

  /**
   * Accept an invitation and join its workspace.
   *
   * A person without an account sends a name and a password and gets a browser session. A person with an account must be signed in.
   *
   * Effect: change. `POST /api/invitations/accept`
   */
  joinWorkspace(args: JoinWorkspaceArgs, options?: CallOptions): Call<schemas.AcceptedInvitation, JoinWorkspaceCodes>;

  /**
   * Read an invitation by its link.
   *
   * Prefer `openInvitation`, which keeps the token out of URLs and therefore out of logs.
   *
   * Effect: read. `GET /api/invitations/{invitation_token}`
   */
  getInvitation(args: GetInvitationArgs, options?: CallOptions): Call<schemas.OpenedInvitation, GetInvitationCodes>;

  /**
   * Accept an invitation and join the workspace.
   *
   * Prefer `joinWorkspace`, which does the same and keeps the token out of URLs and therefore out of logs.
   *
   * Effect: change. `POST /api/invitations/{invitation_token}/accept`
   */
  acceptInvitation(args: AcceptInvitationArgs, options?: CallOptions): Call<schemas.AcceptedInvitation, AcceptInvitationCodes>;

  /**
   * List workspace folders and the caller's personal folders.
   *
   * Returns a flat list, ordered by position, then name. `parent_folder_id` links each folder to its parent.
   *
   * Effect: read. `GET /api/app-folders/tree`
   */
  listFolders(args?: ListFoldersArgs, options?: CallOptions): PagedCall<schemas.ListFoldersResult, ListFoldersCodes, schemas.ListFoldersResult['items'][number]>;

  /**
   * Create a folder for apps or agents.
   *
   * Personal folders require the role viewer, workspace folders the role editor.
   *
   * Effect: change. `POST /api/app-folders`
   */
  createFolder(args: CreateFolderArgs, options?: CallOptions): Call<schemas.Folder, CreateFolderCodes>;

  /**
   * Change a folder.
   *
   * Effect: change. `PATCH /api/app-folders/{folder_id}`
   */
  updateFolder(args: UpdateFolderArgs, options?: CallOptions): Call<schemas.Folder, UpdateFolderCodes>;

  /**
   * Delete a folder and its subfolders, but not the apps in them.
   *
   * Effect: remove. `DELETE /api/app-folders/{folder_id}`
   */
  deleteFolder(args: DeleteFolderArgs, options?: CallOptions): Call<schemas.DeletedFolder, DeleteFolderCodes>;

  /**
   * Add apps to a folder, or move them there.
   *
   * An app is in at most one workspace folder and, per person, in one personal folder, so adding it moves it. Apps that the caller can't reach are listed in `ignored_app_ids`.
   *
   * Effect: change. `POST /api/app-folders/{folder_id}/items`
   */
  addFolderItems(args: AddFolderItemsArgs, options?: CallOptions): Call<schemas.AddedFolderItems, AddFolderItemsCodes>;

  /**
   * Remove an app from a folder without deleting the app.
   *
   * If the app is not in the folder, the call succeeds and changes nothing (`X-Changed: false`).
   *
   * Effect: remove. `DELETE /api/app-folders/{folder_id}/items/{app_id}`
   */
  removeFolderItem(args: RemoveFolderItemArgs, options?: CallOptions): Call<schemas.RemovedFolderItem, RemoveFolderItemCodes>;

  /**
   * List what operations cost in credits.
   *
   * An operation may have several prices, which are added. Operations that are not listed cost no credits.
   *
   * Effect: read. `GET /api/prices`
   */
  listPrices(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListPricesResult, ListPricesCodes>;

  /**
   * Read this month's credits of the workspace and the caller.
   *
   * Effect: read. `GET /api/workspace/credits`
   */
  getCredits(args?: GetCreditsArgs, options?: CallOptions): Call<schemas.Credits, GetCreditsCodes>;

  /**
   * Add up the credits that were used on each day.
   *
   * Owners, admins and workspace keys see what everybody used. Others see only their own use. At most 10,000 sums are returned, of the newest days; `X-Truncated` says if there are more.
   *
   * Effect: read. `GET /api/workspace/credits/usage`
   */
  getCreditUsage(args?: GetCreditUsageArgs, options?: CallOptions): Call<schemas.CreditUsage, GetCreditUsageCodes>;

  /**
   * List the credit ledger, newest first.
   *
   * Owners, admins and workspace keys see every entry. Others see only their own.
   *
   * Effect: read. `GET /api/workspace/credits/ledger`
   */
  listCreditLedger(args?: ListCreditLedgerArgs, options?: CallOptions): PagedCall<schemas.ListCreditLedgerResult, ListCreditLedgerCodes, schemas.ListCreditLedgerResult['items'][number]>;

  /**
   * List the audit log: who changed what in the workspace, and refused attempts, newest first.
   *
   * Effect: read. `GET /api/workspace/audit-log`
   */
  listAuditLog(args?: ListAuditLogArgs, options?: CallOptions): PagedCall<schemas.ListAuditLogResult, ListAuditLogCodes, schemas.ListAuditLogResult['items'][number]>;

  /**
   * Export the sealed audit log as NDJSON, oldest first.
   *
   * Effect: read. `GET /api/workspace/audit-log/export`
   */
  exportAuditLog(args?: ExportAuditLogArgs, options?: CallOptions): PagedCall<AsyncIterable<schemas.AuditEntry>, ExportAuditLogCodes, schemas.AuditEntry>;

  /**
   * Verify the audit log: prove that no sealed entry was changed, removed or moved.
   *
   * Verifies at most 100,000 entries per call. Continue with `from_sequence`.
   *
   * Effect: read. `GET /api/workspace/audit-log/verify`
   */
  verifyAuditLog(args?: VerifyAuditLogArgs, options?: CallOptions): Call<schemas.VerifiedAuditLog, VerifyAuditLogCodes>;

  /**
   * Check that the process is running.
   *
   * Effect: read. `GET /healthz`
   */
  live(args?: Record<string, never>, options?: CallOptions): Call<schemas.Liveness, LiveCodes>;

  /**
   * Check that the process can serve requests.
   *
   * Ready means that the database is reachable, its migrations are applied and the process is not shutting down. The other checks are informational: without Redis, requests are served and rate limits are counted per process; without workers (`none_seen`: no heartbeat in 30 seconds), requests are served and background work waits.
   *
   * Effect: read. `GET /readyz`
   */
  ready(args?: Record<string, never>, options?: CallOptions): Call<schemas.Readiness, ReadyCodes>;

  /**
   * Read metrics in the Prometheus text format.
   *
   * Requires the value of the setting `METRICS_TOKEN` as a bearer token. Without this setting, the response is 404.
   *
   * Effect: read. `GET /metrics`
   */
  metrics(args?: Record<string, never>, options?: CallOptions): Call<string, MetricsCodes>;

  /**
   * Read the version and the configured features of this installation.
   *
   * Effect: read. `GET /api/info`
   */
  serverInfo(args?: Record<string, never>, options?: CallOptions): Call<schemas.ServerInfo, ServerInfoCodes>;

  /**
   * Read the OpenAPI 3.1 document of this API.
   *
   * Effect: read. `GET /openapi.json`
   */
  openapi(args?: Record<string, never>, options?: CallOptions): Call<unknown, OpenapiCodes>;

  /**
   * Read the OpenAPI 3.1 document of this API, as YAML.
   *
   * Effect: read. `GET /openapi.yaml`
   */
  openapiYaml(args?: Record<string, never>, options?: CallOptions): Call<string, OpenapiYamlCodes>;

  /**
   * Read the OpenAPI 3.1 document of one feature.
   *
   * Each document, such as `webhooks.json` or `entities.json`, is complete in itself. The features are the tags of the whole document.
   *
   * Effect: read. `GET /openapi/{file}`
   */
  openapiOfFeature(args: OpenapiOfFeatureArgs, options?: CallOptions): Call<unknown, OpenapiOfFeatureCodes>;

  /**
   * Read a description of this API for language models.
   *
   * Effect: read. `GET /llms.txt`
   */
  llms(args?: Record<string, never>, options?: CallOptions): Call<string, LlmsCodes>;

  /**
   * Read scripts and styles of the reference page.
   *
   * Effect: read. `GET /docs/assets/{file}`
   */
  referenceAsset(args: ReferenceAssetArgs, options?: CallOptions): Call<Uint8Array, ReferenceAssetCodes>;

  /**
   * List the queues of the installation with the number of their rows in each state.
   *
   * Effect: read. `GET /api/operator/queues`
   */
  listQueues(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListQueuesResult, ListQueuesCodes>;

  /**
   * List rows of a queue that are not done: what is due first, then running, delayed and failed rows.
   *
   * Effect: read. `GET /api/operator/queues/{queue}/rows`
   */
  listQueueRows(args: ListQueueRowsArgs, options?: CallOptions): PagedCall<schemas.ListQueueRowsResult, ListQueueRowsCodes, schemas.ListQueueRowsResult['items'][number]>;

  /**
   * Read a row of a queue, and why it does not run.
   *
   * Effect: read. `GET /api/operator/queues/{queue}/rows/{row_id}`
   */
  getQueueRow(args: GetQueueRowArgs, options?: CallOptions): Call<schemas.ExplainedQueueRow, GetQueueRowCodes>;

  /**
   * Run failed rows of a queue again.
   *
   * Refused with 409 `queue_rows_not_changeable` for queues whose rows have settled more when they failed, such as credits; `instead` says what to do.
   *
   * Effect: change. `POST /api/operator/queues/{queue}/retry`
   */
  retryQueueRows(args: RetryQueueRowsArgs, options?: CallOptions): Call<schemas.RetriedQueueRows, RetryQueueRowsCodes>;

  /**
   * End waiting rows of a queue as failed; rows that are running continue.
   *
   * Effect: remove. `POST /api/operator/queues/{queue}/cancel`
   */
  cancelQueueRows(args: CancelQueueRowsArgs, options?: CallOptions): Call<schemas.CancelledQueueRows, CancelQueueRowsCodes>;

  /**
   * Pause a queue, or the rows of one owner; a second pause changes the first one's end.
   *
   * Effect: change. `POST /api/operator/queues/{queue}/pause`
   */
  pauseQueue(args: PauseQueueArgs, options?: CallOptions): Call<schemas.QueuePause, PauseQueueCodes>;

  /**
   * End the pause of a queue, or of one owner.
   *
   * Effect: change. `POST /api/operator/queues/{queue}/resume`
   */
  resumeQueue(args: ResumeQueueArgs, options?: CallOptions): Call<schemas.QueuePause, ResumeQueueCodes>;

  /**
   * Read scripts, styles and other files of the console.
   *
   * Files below `assets/` have a hash of their content in their name, so they never change.
   *
   * Effect: read. `GET /console/{rest}`
   */
  consoleAsset(args: ConsoleAssetArgs, options?: CallOptions): Call<Uint8Array, ConsoleAssetCodes>;
}

/** The operations with a path parameter `app_id`, which is bound. */
export interface AppOperations {
  /**
   * Read one app.
   *
   * Effect: read. `GET /api/apps/{app_id}`
   */
  getApp(args?: Record<string, never>, options?: CallOptions): Call<schemas.App, GetAppCodes>;

  /**
   * Change an app; fields that are not sent keep their value.
   *
   * `owner_email` transfers the app to another member and requires the role owner.
   *
   * Effect: change. `PUT /api/apps/{app_id}`
   */
  updateApp(args?: Omit<UpdateAppArgs, 'app_id'>, options?: CallOptions): Call<schemas.App, UpdateAppCodes>;

  /**
   * Move an app to the trash; it can be restored for 30 days.
   *
   * The campaigns of the app are paused first, and stay paused if it is restored. If the ad platform does not confirm this, the request fails with 409 `ad_platform_timeout`, and the app is kept.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}`
   */
  deleteApp(args?: Record<string, never>, options?: CallOptions): Call<schemas.Success, DeleteAppCodes>;

  /**
   * Restore a deleted app from the trash.
   *
   * Effect: change. `POST /api/apps/{app_id}/restore`
   */
  restoreApp(args?: Record<string, never>, options?: CallOptions): Call<schemas.App, RestoreAppCodes>;

  /**
   * List the people an app is shared with.
   *
   * Effect: read. `GET /api/apps/{app_id}/shares`
   */
  listAppShares(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListAppSharesResult, ListAppSharesCodes>;

  /**
   * Share an app with a person; someone outside the workspace is invited as a guest.
   *
   * The response has `X-Warning` if the mail of a new invitation was not sent. Resend the invitation to get its link.
   *
   * Effect: change. `PUT /api/apps/{app_id}/shares/{email}`
   */
  putAppShare(args: Omit<PutAppShareArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppShare, PutAppShareCodes>;

  /**
   * Stop sharing an app with a person; a guest without other shares leaves the workspace.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/shares/{email}`
   */
  deleteAppShare(args: Omit<DeleteAppShareArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteAppShareCodes>;

  /**
   * List the files of an app, ordered by path.
   *
   * Effect: read. `GET /api/apps/{app_id}/files`
   */
  listAppFiles(args?: Omit<ListAppFilesArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListAppFilesResult, ListAppFilesCodes, schemas.ListAppFilesResult['items'][number]>;

  /**
   * Upload many files of an app in one revision, all or nothing.
   *
   * Effect: change. `PUT /api/apps/{app_id}/files`
   */
  syncAppFiles(args: Omit<SyncAppFilesArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppFilesSynced, SyncAppFilesCodes>;

  /**
   * Read a file.
   *
   * Effect: read. `GET /api/apps/{app_id}/files/content`
   */
  getAppFile(args: Omit<GetAppFileArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppFileContent, GetAppFileCodes>;

  /**
   * Write a file.
   *
   * Effect: change. `PUT /api/apps/{app_id}/files/content`
   */
  putAppFile(args: Omit<PutAppFileArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppFileSaved, PutAppFileCodes>;

  /**
   * Delete a file.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/files/content`
   */
  deleteAppFile(args: Omit<DeleteAppFileArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteAppFileCodes>;

  /**
   * Download all files of an app as one archive.
   *
   * A gzipped tar file, or with `Accept: application/zip` a zip file. All files are those of one revision, which `X-App-Revision` names.
   *
   * Effect: read. `GET /api/apps/{app_id}/files/archive`
   */
  downloadAppFiles(args?: Omit<DownloadAppFilesArgs, 'app_id'>, options?: CallOptions): Call<Uint8Array, DownloadAppFilesCodes> & Formats<'application/zip'>;

  /**
   * List the revisions of an app, newest first.
   *
   * The last 200 revisions and those of 30 days are kept, at most 2,000. If the storage quota is full, the oldest beyond the last 20 are given up.
   *
   * Effect: read. `GET /api/apps/{app_id}/revisions`
   */
  listRevisions(args?: Omit<ListRevisionsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListRevisionsResult, ListRevisionsCodes, schemas.ListRevisionsResult['items'][number]>;

  /**
   * Read one revision, and how it differs from another one.
   *
   * At most 1,000 files are listed; `X-Truncated` says if more differ. Long differences are cut.
   *
   * Effect: read. `GET /api/apps/{app_id}/revisions/{revision}`
   */
  getRevision(args: Omit<GetRevisionArgs, 'app_id'>, options?: CallOptions): Call<schemas.Revision, GetRevisionCodes>;

  /**
   * Restore the files, schemas and headers of an earlier revision as a new one.
   *
   * Nothing of the history is removed. Rules that would open data are restored only if `opens` names them; `dry_run` lists them. `X-Changed: false` means that nothing was changed. The published app stays as it is.
   *
   * Effect: change. `POST /api/apps/{app_id}/revisions/{revision}/restore`
   */
  restoreRevision(args: Omit<RestoreRevisionArgs, 'app_id'>, options?: CallOptions): Call<schemas.RevisionRestored, RestoreRevisionCodes>;

  /**
   * List the names of an app's secrets.
   *
   * Effect: read. `GET /api/apps/{app_id}/secrets`
   */
  listAppSecrets(args?: Omit<ListAppSecretsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListAppSecretsResult, ListAppSecretsCodes, schemas.ListAppSecretsResult['items'][number]>;

  /**
   * Store a secret of an app, such as an API key; its value can't be read back.
   *
   * Effect: change. `PUT /api/apps/{app_id}/secrets/{secret_name}`
   */
  putAppSecret(args: Omit<PutAppSecretArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppSecret, PutAppSecretCodes>;

  /**
   * Delete a secret.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/secrets/{secret_name}`
   */
  deleteAppSecret(args: Omit<DeleteAppSecretArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteAppSecretCodes>;

  /**
   * Build an app by chat: send a message to its assistant.
   *
   * Responds when the turn has ended, after at most 10 minutes. If the turn fails, the response is 200 with `status.state` `error`, and nothing is saved. With `Accept: text/event-stream` the turn is streamed. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.
   *
   * Effect: spend. `POST /api/apps/{app_id}/chat/message`
   */
  sendChatMessage(args: Omit<SendChatMessageArgs, 'app_id'>, options?: CallOptions): StreamedCall<schemas.ChatTurn, SendChatMessageCodes, SendChatMessageEvent>;

  /**
   * Follow all turns of an app's chat, and its revisions, as a stream of events.
   *
   * Begins with the running turn, if there is one, or after `Last-Event-ID`. Ends after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/apps/{app_id}/chat/events`
   */
  followChat(args?: Record<string, never>, options?: CallOptions): StreamedCall<never, FollowChatCodes, FollowChatEvent>;

  /**
   * List the messages of an app's chat, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/chat/full-conversation`
   */
  getChat(args?: Omit<GetChatArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.GetChatResult, GetChatCodes, schemas.GetChatResult['items'][number]>;

  /**
   * Stop the running turn of an app's chat; nothing that it changed is saved.
   *
   * If no turn was running, `stopped` is false, and the response has `X-Changed: false`.
   *
   * Effect: change. `POST /api/apps/{app_id}/chat/stop`
   */
  stopChat(args?: Record<string, never>, options?: CallOptions): Call<schemas.ChatStopped, StopChatCodes>;

  /**
   * Apply or drop a rule that the assistant proposed and that would open data.
   *
   * Applying a rule creates one revision. After 409 `held_rules_outdated`, the proposal can only be dropped.
   *
   * Effect: change. `POST /api/apps/{app_id}/chat/held-rules/{held_id}`
   */
  answerHeldRules(args: Omit<AnswerHeldRulesArgs, 'app_id'>, options?: CallOptions): Call<schemas.HeldRulesAnswered, AnswerHeldRulesCodes>;

  /**
   * Publish an app's files, or make an earlier deployment live again.
   *
   * Publishes the files in `dist`, or else those in `public`. `X-Changed: false` means that they were already live. Visitors see the change within a second.
   *
   * Effect: change. `POST /api/apps/{app_id}/deploy`
   */
  publishApp(args?: Omit<PublishAppArgs, 'app_id'>, options?: CallOptions): Call<schemas.Deployed, PublishAppCodes>;

  /**
   * Take a published app off the web; its deployments are kept.
   *
   * `X-Changed: false` means that the app was not published.
   *
   * Effect: change. `POST /api/apps/{app_id}/unpublish`
   */
  unpublishApp(args?: Record<string, never>, options?: CallOptions): Call<schemas.Success, UnpublishAppCodes>;

  /**
   * List the deployments of an app, newest first; the last 50 are kept.
   *
   * Effect: read. `GET /api/apps/{app_id}/deployments`
   */
  listDeployments(args?: Omit<ListDeploymentsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListDeploymentsResult, ListDeploymentsCodes, schemas.ListDeploymentsResult['items'][number]>;

  /**
   * Read an app's security settings.
   *
   * Effect: read. `GET /api/apps/{app_id}/security/settings`
   */
  getSecuritySettings(args?: Record<string, never>, options?: CallOptions): Call<schemas.SecuritySettings, GetSecuritySettingsCodes>;

  /**
   * Change an app's security settings; fields that are not sent keep their value.
   *
   * The headers take effect within a second, even for files that are already published.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/security/settings`
   */
  setSecuritySettings(args?: Omit<SetSecuritySettingsArgs, 'app_id'>, options?: CallOptions): Call<schemas.SecuritySettings, SetSecuritySettingsCodes>;

  /**
   * Show a revision of an app on a host of its own, for a day.
   *
   * For a look at an app before it is published. The pages read and change the app's live data. The newest 20 previews of an app are kept.
   *
   * Effect: change. `POST /api/apps/{app_id}/previews`
   */
  createPreview(args?: Omit<CreatePreviewArgs, 'app_id'>, options?: CallOptions): Call<schemas.Preview, CreatePreviewCodes>;

  /**
   * End a preview; its address and its token stop working at once.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/previews/{preview_id}`
   */
  deletePreview(args: Omit<DeletePreviewArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeletePreviewCodes>;

  /**
   * Read an app's latest security scan without starting one.
   *
   * Read `status` before `result`. An empty group means that there are no problems only if `X-Scan-Coverage` says `ran` for it. If the caller can't see the app, the response is 403.
   *
   * Effect: read. `GET /api/apps/{app_id}/security/scan`
   */
  getSecurityScan(args?: Record<string, never>, options?: CallOptions): Call<schemas.SecurityScan, GetSecurityScanCodes> & Formats<'application/sarif+json'>;

  /**
   * Scan an app for security problems.
   *
   * Poll `getSecurityScan` until `status` is neither `pending` nor `scanning`. `X-Changed: false` means that a scan was already waiting or running.
   *
   * Effect: change. `POST /api/apps/{app_id}/security/scan`
   */
  runSecurityScan(args?: Omit<RunSecurityScanArgs, 'app_id'>, options?: CallOptions): Call<schemas.SecurityScan, RunSecurityScanCodes>;

  /**
   * Ignore a finding; it stays in the result.
   *
   * The finding is no longer ignored once scans have not found it for 180 days.
   *
   * Effect: change. `POST /api/apps/{app_id}/security/scan/ignore`
   */
  ignoreFinding(args: Omit<IgnoreFindingArgs, 'app_id'>, options?: CallOptions): Call<schemas.MarkedFinding, IgnoreFindingCodes>;

  /**
   * Restore an ignored finding.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/security/scan/ignore/{fingerprint}`
   */
  restoreFinding(args: Omit<RestoreFindingArgs, 'app_id'>, options?: CallOptions): Call<schemas.MarkedFinding, RestoreFindingCodes>;

  /**
   * Replace the rules of open operations with those that the scan recommends.
   *
   * Each entity is changed separately, and only if its rules have not changed since the scan.
   *
   * Effect: change. `POST /api/apps/{app_id}/security/scan/fix-rls`
   */
  fixRls(args: Omit<FixRlsArgs, 'app_id'>, options?: CallOptions): Call<schemas.FixedRules, FixRlsCodes>;

  /**
   * Hide a header recommendation until the next scan.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/security/scan/header-recommendations/{flag}`
   */
  dismissHeader(args: Omit<DismissHeaderArgs, 'app_id'>, options?: CallOptions): Call<schemas.MarkedFinding, DismissHeaderCodes>;

  /**
   * List the tests of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/flows`
   */
  listFlows(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListFlowsResult, ListFlowsCodes>;

  /**
   * Create a test that an agent runs in a real browser.
   *
   * Effect: change. `POST /api/apps/{app_id}/testing-agent/flows`
   */
  createFlow(args: Omit<CreateFlowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Flow, CreateFlowCodes>;

  /**
   * Read a test.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/flows/{flow_id}`
   */
  getFlow(args: Omit<GetFlowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Flow, GetFlowCodes>;

  /**
   * Change a test; fields that are not sent keep their value.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/testing-agent/flows/{flow_id}`
   */
  updateFlow(args: Omit<UpdateFlowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Flow, UpdateFlowCodes>;

  /**
   * Delete a test and keep its runs and reports.
   *
   * If the test is running, the run is cancelled and its browser closed first. After a 503 response, send the request again.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/testing-agent/flows/{flow_id}`
   */
  deleteFlow(args: Omit<DeleteFlowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteFlowCodes>;

  /**
   * Let the language model write up to five tests based on the contents of an app.
   *
   * Costs 2 credits. `no_changes` is true if the model found nothing new to test.
   *
   * Effect: spend. `POST /api/apps/{app_id}/testing-agent/flows/generate-from-app-context`
   */
  generateFlows(args?: Record<string, never>, options?: CallOptions): Call<schemas.GeneratedFlows, GenerateFlowsCodes>;

  /**
   * Run a test on the published app.
   *
   * Costs 3 credits. Poll `getExecution` until `completed_at` is set, then read the report with `getTestReport`.
   *
   * Effect: spend. `POST /api/apps/{app_id}/testing-agent/executions`
   */
  startExecution(args: Omit<StartExecutionArgs, 'app_id'>, options?: CallOptions): Call<schemas.Execution, StartExecutionCodes>;

  /**
   * List the test runs of an app, including those of deleted tests, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/executions`
   */
  listExecutions(args?: Omit<ListExecutionsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListExecutionsResult, ListExecutionsCodes, schemas.ListExecutionsResult['items'][number]>;

  /**
   * Read the newest run of each test of an app, keyed by the id of the test.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/executions/latest-by-flow`
   */
  latestExecutions(args?: Record<string, never>, options?: CallOptions): Call<schemas.LatestExecutionsResult, LatestExecutionsCodes>;

  /**
   * Read a test run.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/executions/{execution_id}`
   */
  getExecution(args: Omit<GetExecutionArgs, 'app_id'>, options?: CallOptions): Call<schemas.Execution, GetExecutionCodes>;

  /**
   * Cancel a test run and close its browser.
   *
   * Waits up to 5 seconds for the browser to close. `already_terminal` is true if the run had ended before.
   *
   * Effect: change. `POST /api/apps/{app_id}/testing-agent/executions/{execution_id}/cancel`
   */
  cancelExecution(args: Omit<CancelExecutionArgs, 'app_id'>, options?: CallOptions): Call<schemas.CancelledExecution, CancelExecutionCodes>;

  /**
   * Read the report of a test run.
   *
   * The addresses of screenshots and traces in the report expire after an hour.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/analysis/{execution_id}`
   */
  getTestReport(args: Omit<GetTestReportArgs, 'app_id'>, options?: CallOptions): Call<schemas.TestReport, GetTestReportCodes>;

  /**
   * Fetch a screenshot or trace at an address from a report.
   *
   * Effect: read. `GET /api/apps/{app_id}/testing-agent/evidence/{execution_id}/{file}`
   */
  getTestEvidence(args: Omit<GetTestEvidenceArgs, 'app_id'>, options?: CallOptions): Call<Uint8Array, GetTestEvidenceCodes> & Formats<'application/zip'>;

  /**
   * Read which repository an imported app is connected to.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/repository`
   */
  getRepository(args?: Record<string, never>, options?: CallOptions): Call<schemas.Repository, GetRepositoryCodes>;

  /**
   * Connect an imported app to its repository at the git host.
   *
   * The token is encrypted and never shown. It must be allowed to read and write contents and pull requests; `missing_permissions` lists what it lacks. Without `credentials`, the App that the operator registered at the git host is used, if the operator has given the repository to the workspace.
   *
   * Effect: change. `PUT /api/apps/{app_id}/imported/repository`
   */
  connectRepository(args: Omit<ConnectRepositoryArgs, 'app_id'>, options?: CallOptions): Call<schemas.Repository, ConnectRepositoryCodes>;

  /**
   * Disconnect an imported app from its repository and delete the token.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/imported/repository`
   */
  disconnectRepository(args?: Record<string, never>, options?: CallOptions): Call<schemas.Success, DisconnectRepositoryCodes>;

  /**
   * Let an agent carry out a task in the app's repository and open a pull request.
   *
   * Responds before the work starts. If you get no response, send the same `Idempotency-Key` again: it never starts a second session, and returns the session as it is now. A session costs 1 credit per 10,000 tokens, at least 2.
   *
   * Effect: spend. `POST /api/apps/{app_id}/imported/sessions`
   */
  launchSession(args: Omit<LaunchSessionArgs, 'app_id'>, options?: CallOptions): Call<schemas.CodingSession, LaunchSessionCodes>;

  /**
   * List the coding sessions of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions`
   */
  listSessions(args?: Omit<ListSessionsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListSessionsResult, ListSessionsCodes, schemas.ListSessionsResult['items'][number]>;

  /**
   * Read the session that you launched with this Idempotency-Key.
   *
   * Shows whether a launch that you got no response to was accepted. It never launches a session.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/launch-requests/{launch_key}`
   */
  getSessionByKey(args: Omit<GetSessionByKeyArgs, 'app_id'>, options?: CallOptions): Call<schemas.CodingSession, GetSessionByKeyCodes>;

  /**
   * Read a coding session.
   *
   * The state of the pull request is refreshed if it is older than a minute. If the git host does not respond, `X-Partial-Result` names `pull_request`.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}`
   */
  getSession(args: Omit<GetSessionArgs, 'app_id'>, options?: CallOptions): Call<schemas.CodingSession, GetSessionCodes>;

  /**
   * Cancel a coding session and keep what it has pushed.
   *
   * A queued session ends at once. Any other active session is `cancelling` until it has stopped, for at most 20 seconds.
   *
   * Effect: change. `POST /api/apps/{app_id}/imported/sessions/{session_id}/cancel`
   */
  cancelSession(args: Omit<CancelSessionArgs, 'app_id'>, options?: CallOptions): Call<schemas.CodingSession, CancelSessionCodes>;

  /**
   * Read the open question or approval of a coding session.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}/input-request`
   */
  getInputRequest(args: Omit<GetInputRequestArgs, 'app_id'>, options?: CallOptions): Call<schemas.OpenInputRequest, GetInputRequestCodes>;

  /**
   * Answer, approve or write to a coding session.
   *
   * A text is read at the next step of the session. If the session has ended, a text starts another turn on the same branch. `answers` and `approve` require the `input_request_id` of the open question or approval.
   *
   * Effect: spend. `POST /api/apps/{app_id}/imported/sessions/{session_id}/messages`
   */
  sendSessionMessage(args: Omit<SendSessionMessageArgs, 'app_id'>, options?: CallOptions): Call<schemas.SessionMessage, SendSessionMessageCodes>;

  /**
   * Read whether the agent has read a message.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}/messages/{input_id}`
   */
  getSessionMessage(args: Omit<GetSessionMessageArgs, 'app_id'>, options?: CallOptions): Call<schemas.SessionMessage, GetSessionMessageCodes>;

  /**
   * Follow a coding session as a stream of events.
   *
   * Begins with the session as it is, or after `Last-Event-ID`. Ends with the session, or after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/apps/{app_id}/imported/sessions/{session_id}/events`
   */
  streamSession(args: Omit<StreamSessionArgs, 'app_id'>, options?: CallOptions): StreamedCall<never, StreamSessionCodes, StreamSessionEvent>;

  /**
   * List the users of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/users`
   */
  listAppUsers(args?: Omit<ListAppUsersArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListAppUsersResult, ListAppUsersCodes, schemas.ListAppUsersResult['items'][number]>;

  /**
   * Create a user of an app.
   *
   * Effect: change. `POST /api/apps/{app_id}/users`
   */
  createAppUser(args: Omit<CreateAppUserArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppUser, CreateAppUserCodes>;

  /**
   * Change a user of an app.
   *
   * Fields that are not sent keep their value. `data` is merged key by key; null removes a key.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/users/{user_id}`
   */
  updateAppUser(args: Omit<UpdateAppUserArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppUser, UpdateAppUserCodes>;

  /**
   * Delete a user of an app; their tokens stop working at once, their records stay.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/users/{user_id}`
   */
  deleteAppUser(args: Omit<DeleteAppUserArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteAppUserCodes>;

  /**
   * Create a token with which a user of an app calls its data operations.
   *
   * For the app's own server, after it has signed the user in. The token is valid for this app only.
   *
   * Effect: change. `POST /api/apps/{app_id}/users/{user_id}/tokens`
   */
  createAppUserToken(args: Omit<CreateAppUserTokenArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppUserToken, CreateAppUserTokenCodes>;

  /**
   * Sign a user of an app in with an e-mail address and password.
   *
   * For the app's web pages. Returns 429 after five failures for the same e-mail and IP address within 15 minutes, and to a second attempt for the same e-mail address within 5 seconds; at an IP address where a user of the app has signed in before, only attempts from there count.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/sign-in`
   */
  signInAppUser(args: Omit<SignInAppUserArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppUserSignedIn, SignInAppUserCodes>;

  /**
   * Sign up as a user of an app, to be confirmed with a mailed link.
   *
   * The response is the same for every address. The user is created, and the password stored, when the link is used. If no mail can be sent, the response has `X-Warning: link_mail_off`.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/sign-up`
   */
  signUpAppUser(args: Omit<SignUpAppUserArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, SignUpAppUserCodes>;

  /**
   * Send a user of an app a link that signs them in or sets a password.
   *
   * The response is the same whether or not a user has the address. If no mail can be sent, the response has `X-Warning: link_mail_off`.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/link`
   */
  requestAppUserLink(args: Omit<RequestAppUserLinkArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, RequestAppUserLinkCodes>;

  /**
   * Sign a user of an app in with the token of a mailed link, and set a password if one is sent.
   *
   * The link works once and for one hour, and ends all other links to the address. A new password ends the user's other sign-ins.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/link/use`
   */
  useAppUserLink(args: Omit<UseAppUserLinkArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppUserSignedIn, UseAppUserLinkCodes>;

  /**
   * Read the calling user of an app.
   *
   * Effect: read. `GET /api/apps/{app_id}/auth/me`
   */
  getAppUserSelf(args?: Record<string, never>, options?: CallOptions): Call<schemas.AppUserSelf, GetAppUserSelfCodes>;

  /**
   * Replace the calling user's token with a new one; the old one expires soon.
   *
   * The new token is valid for as long as the old one was, but not beyond the end of the sign-in: 30 days after it began, or the expiry of a token that `createAppUserToken` made. The old token of a sign-in expires after 60 seconds, so you can repeat a request whose response was lost; a token that `createAppUserToken` made expires at once.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/renew`
   */
  renewAppUserToken(args?: Record<string, never>, options?: CallOptions): Call<schemas.AppUserSignedIn, RenewAppUserTokenCodes>;

  /**
   * End the calling user's sign-in.
   *
   * Effect: change. `POST /api/apps/{app_id}/auth/sign-out`
   */
  signOutAppUser(args?: Record<string, never>, options?: CallOptions): Call<schemas.Success, SignOutAppUserCodes>;

  /**
   * Read how the users of an app sign in and sign up.
   *
   * Effect: read. `GET /api/apps/{app_id}/auth/settings`
   */
  getAppAuthSettings(args?: Record<string, never>, options?: CallOptions): Call<schemas.AppAuthSettings, GetAppAuthSettingsCodes>;

  /**
   * Change how the users of an app sign in and sign up; fields that are not sent keep their value.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/auth/settings`
   */
  setAppAuthSettings(args?: Omit<SetAppAuthSettingsArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppAuthSettings, SetAppAuthSettingsCodes>;

  /**
   * List an app's entity schemas, sorted by name.
   *
   * Effect: read. `GET /api/apps/{app_id}/entity-schemas`
   */
  listEntitySchemas(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListEntitySchemasResult, ListEntitySchemasCodes>;

  /**
   * Create or replace many schemas in one revision, all or nothing.
   *
   * With `delete_missing`, schemas that were not sent are deleted. If one of those has records, the whole request is refused.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entity-schemas`
   */
  syncEntitySchemas(args: Omit<SyncEntitySchemasArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntitySchemasSynced, SyncEntitySchemasCodes>;

  /**
   * Read one schema.
   *
   * Effect: read. `GET /api/apps/{app_id}/entity-schemas/{entity_name}`
   */
  getEntitySchema(args: Omit<GetEntitySchemaArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntitySchema, GetEntitySchemaCodes>;

  /**
   * Create or replace an entity: the schema with its fields and rules.
   *
   * The response reports the impact on existing records. Rules say who may read, create, change and delete records, for example the owner alone. Existing records that violate the new schema stay readable and are validated when they are next written. `impact.violating_records` covers the newest 1,000 records. `impact.newly_open` has an example for each operation in which the new rules allow what the old ones refused. `X-Partial-Result` names a field of `impact` that may be incomplete. `expected_revision` is the revision of the stored schema, or 0 if it must not exist yet. `X-Warning: rule_missing:<ops>` lists the operations that are closed because they have no rule, joined by `+`, and `rule_open:<ops>` those that everybody may do because their rule is `true`.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entity-schemas/{entity_name}`
   */
  putEntitySchema(args: Omit<PutEntitySchemaArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntitySchemaSaved, PutEntitySchemaCodes>;

  /**
   * Delete a schema; if requested, up to 5,000 records are moved to the trash first.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entity-schemas/{entity_name}`
   */
  deleteEntitySchema(args: Omit<DeleteEntitySchemaArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteEntitySchemaCodes>;

  /**
   * Explain which clauses of the rules allow or deny an operation on a record, and what would allow it.
   *
   * Explains the decision for the caller, or for the person in `as`, about a stored record (`record_id`) or a proposed one (`record`). The operation is not performed. Values that the caller may not read are `•`, and results that depend on them are `hidden`.
   *
   * Effect: read. `POST /api/apps/{app_id}/entity-schemas/{entity_name}/rules/explain`
   */
  explainRules(args: Omit<ExplainRulesArgs, 'app_id'>, options?: CallOptions): Call<schemas.RuleExplanation, ExplainRulesCodes>;

  /**
   * List the records of an entity that the caller may read, newest first.
   *
   * `q` is a filter as JSON. Any other parameter names a field and the value that it must have. A cursor contains the filter, sort and fields. A page ends early if its data would exceed 1 MiB.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}`
   */
  listRecords(args: Omit<ListRecordsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListRecordsResult, ListRecordsCodes, schemas.ListRecordsResult['items'][number]>;

  /**
   * Create a record of an entity.
   *
   * Adds one record. For many at once, use `createRecords`.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}`
   */
  createRecord(args: Omit<CreateRecordArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntityRecord, CreateRecordCodes>;

  /**
   * Delete all records that match a query: move them to the trash, up to 5,000 and 64 MiB.
   *
   * Only records that the caller may read and that the delete rule allows are deleted. `X-Truncated` is sent if there are more.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entities/{entity_name}`
   */
  deleteRecords(args: Omit<DeleteRecordsArgs, 'app_id'>, options?: CallOptions): Call<schemas.RecordsDeleted, DeleteRecordsCodes>;

  /**
   * Count how many records of an entity there are that the caller may read.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}/count`
   */
  countRecords(args: Omit<CountRecordsArgs, 'app_id'>, options?: CallOptions): Call<schemas.RecordCount, CountRecordsCodes>;

  /**
   * List all records of an entity with their creators, newest first; rules do not apply.
   *
   * For editors of the app, who decide about its rules. Fields with read rules are included. To see what a user of the app sees, use `listRecords` with a token of that user.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}/all`
   */
  listAllRecords(args: Omit<ListAllRecordsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.AllRecords, ListAllRecordsCodes, schemas.AllRecords['items'][number]>;

  /**
   * Read one record.
   *
   * Effect: read. `GET /api/apps/{app_id}/entities/{entity_name}/{entity_id}`
   */
  getRecord(args: Omit<GetRecordArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntityRecord, GetRecordCodes>;

  /**
   * Update a record by merging the sent fields into it.
   *
   * A field that is not sent keeps its value; null clears it. Fields that the schema does not declare, and automatic fields, are ignored and listed in `X-Ignored-Fields`.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entities/{entity_name}/{entity_id}`
   */
  updateRecord(args: Omit<UpdateRecordArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntityRecord, UpdateRecordCodes>;

  /**
   * Move a record to the trash, from which builders can restore it for 30 days.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entities/{entity_name}/{entity_id}`
   */
  deleteRecord(args: Omit<DeleteRecordArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteRecordCodes>;

  /**
   * Create many records at once, up to 500, all or nothing.
   *
   * To import more, send several requests.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}/bulk`
   */
  createRecords(args: Omit<CreateRecordsArgs, 'app_id'>, options?: CallOptions): Call<schemas.CreateRecordsResult, CreateRecordsCodes>;

  /**
   * Update up to 500 records, all or nothing.
   *
   * Effect: change. `PUT /api/apps/{app_id}/entities/{entity_name}/bulk`
   */
  updateRecords(args: Omit<UpdateRecordsArgs, 'app_id'>, options?: CallOptions): Call<schemas.UpdateRecordsResult, UpdateRecordsCodes>;

  /**
   * Update the records whose key exists and create the others, all or nothing.
   *
   * Only records and key fields that the caller may read are used to find existing records.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}/upsert`
   */
  upsertRecords(args: Omit<UpsertRecordsArgs, 'app_id'>, options?: CallOptions): Call<schemas.RecordsUpserted, UpsertRecordsCodes>;

  /**
   * Restore a record from the trash; rules do not apply.
   *
   * Effect: change. `POST /api/apps/{app_id}/entities/{entity_name}/{entity_id}/restore`
   */
  restoreRecord(args: Omit<RestoreRecordArgs, 'app_id'>, options?: CallOptions): Call<schemas.EntityRecord, RestoreRecordCodes>;

  /**
   * Delete a record permanently; rules do not apply.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/entities/{entity_name}/{entity_id}/permanent`
   */
  purgeRecord(args: Omit<PurgeRecordArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, PurgeRecordCodes>;

  /**
   * List the automations of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/automations`
   */
  listAutomations(args?: Omit<ListAutomationsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListAutomationsResult, ListAutomationsCodes, schemas.ListAutomationsResult['items'][number]>;

  /**
   * Create an automation, which performs one action when records change or at certain times.
   *
   * Effect: change. `POST /api/apps/{app_id}/automations`
   */
  createAutomation(args: Omit<CreateAutomationArgs, 'app_id'>, options?: CallOptions): Call<schemas.Automation, CreateAutomationCodes>;

  /**
   * Change an automation; fields that are not sent keep their value.
   *
   * `is_active: true` resets `consecutive_failures`. `action` and `schedule` are replaced as a whole.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/automations/{automation_id}`
   */
  updateAutomation(args: Omit<UpdateAutomationArgs, 'app_id'>, options?: CallOptions): Call<schemas.Automation, UpdateAutomationCodes>;

  /**
   * Delete an automation; its pending runs no longer do anything.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/automations/{automation_id}`
   */
  deleteAutomation(args: Omit<DeleteAutomationArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteAutomationCodes>;

  /**
   * List the services that an app can be connected to, by type.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/available-integrations`
   */
  listConnectors(args?: Omit<ListConnectorsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListConnectorsResult, ListConnectorsCodes, schemas.ListConnectorsResult['items'][number]>;

  /**
   * Get the fields that a service needs before it is connected, and their saved values.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/connection-config/{integration_type}`
   */
  getConnectionConfig(args: Omit<GetConnectionConfigArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConnectionFields, GetConnectionConfigCodes>;

  /**
   * Get the status of the latest attempt to connect a service.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/status`
   */
  getConnectionStatus(args: Omit<GetConnectionStatusArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConnectionStatus, GetConnectionStatusCodes>;

  /**
   * List the connections of an app, by type.
   *
   * Effect: read. `GET /api/apps/{app_id}/external-auth/list`
   */
  listConnections(args?: Omit<ListConnectionsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListConnectionsResult, ListConnectionsCodes, schemas.ListConnectionsResult['items'][number]>;

  /**
   * Start connecting a service; the person must open redirect_url within ten minutes.
   *
   * Services with API keys are connected immediately. Check `error` and `already_authorized`: the status is 200 in both cases.
   *
   * Effect: change. `POST /api/apps/{app_id}/external-auth/initiate`
   */
  startConnection(args: Omit<StartConnectionArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConnectionStart, StartConnectionCodes>;

  /**
   * Replace the scopes of a connection; wider scopes need consent at redirect_url.
   *
   * Effect: change. `PUT /api/apps/{app_id}/external-auth/integrations/{integration_type}`
   */
  setConnectorScopes(args: Omit<SetConnectorScopesArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConnectionStart, SetConnectorScopesCodes>;

  /**
   * Erase the tokens of a connection, and revoke them at the service if it is reachable.
   *
   * Effect: change. `POST /api/apps/{app_id}/external-auth/integrations/{integration_type}/disconnect`
   */
  disconnectConnector(args: Omit<DisconnectConnectorArgs, 'app_id'>, options?: CallOptions): Call<schemas.Disconnected, DisconnectConnectorCodes>;

  /**
   * Remove a connection: its tokens, as when disconnecting, and its configuration.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/external-auth/integrations/{integration_type}/remove`
   */
  removeConnector(args: Omit<RemoveConnectorArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConnectorRemoved, RemoveConnectorCodes>;

  /**
   * Send events that record what people do in an app.
   *
   * An invalid event is rejected with a reason, and the others are stored. For 60 days, an event with the same `event_id` is a duplicate. Events from an app user are attributed to that user, and events from anonymous callers to nobody. `__user_heartbeat_event__` only shows that the user is active.
   *
   * Effect: change. `POST /api/apps/{app_id}/analytics/track/batch`
   */
  trackEvents(args: Omit<TrackEventsArgs, 'app_id'>, options?: CallOptions): Call<schemas.TrackedEvents, TrackEventsCodes>;

  /**
   * Count the users of an app by when they were last seen.
   *
   * Each user is counted once, by their most recent event; `live_users` counts users by their heartbeats. A count that could not be read is 0, and `X-Partial-Result` names it.
   *
   * Effect: read. `GET /api/apps/{app_id}/analytics/stats/users`
   */
  getUserStats(args?: Record<string, never>, options?: CallOptions): Call<schemas.UserStats, GetUserStatsCodes>;

  /**
   * List the names of the events of the last 60 days, the most frequent first.
   *
   * Effect: read. `GET /api/apps/{app_id}/analytics/event-names`
   */
  listEventNames(args?: Omit<ListEventNamesArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListEventNamesResult, ListEventNamesCodes, schemas.ListEventNamesResult['items'][number]>;

  /**
   * List events of one name that match a filter, newest first.
   *
   * Send the same body with `cursor` for the next page. A page ends early if its events would exceed 1 MiB.
   *
   * Effect: read. `POST /api/apps/{app_id}/analytics/events/query`
   */
  queryEvents(args: Omit<QueryEventsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.QueryEventsResult, QueryEventsCodes, schemas.QueryEventsResult['items'][number]>;

  /**
   * Count, add up or average events over time, as JSON or as a chart.
   *
   * With `Accept: image/svg+xml`, the response is a chart as an SVG image.
   *
   * Effect: read. `POST /api/apps/{app_id}/analytics/aggregate/time`
   */
  aggregateOverTime(args: Omit<AggregateOverTimeArgs, 'app_id'>, options?: CallOptions): Call<schemas.EventsOverTime, AggregateOverTimeCodes> & Formats<'image/svg+xml'>;

  /**
   * Group events by the values of fields, the largest groups first.
   *
   * Effect: read. `POST /api/apps/{app_id}/analytics/aggregate/field`
   */
  aggregateByField(args: Omit<AggregateByFieldArgs, 'app_id'>, options?: CallOptions): Call<schemas.EventGroups, AggregateByFieldCodes>;

  /**
   * Read an app's advertising account, with a status that is at most a minute old.
   *
   * If the ad platform does not answer, the last known status is returned with `X-Partial-Result: live_status`.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/accounts`
   */
  getAdsAccount(args?: Record<string, never>, options?: CallOptions): Call<schemas.AdsAccount, GetAdsAccountCodes>;

  /**
   * Create an app's advertising account if it has none, without a campaign and free of charge.
   *
   * After 409 `ad_platform_timeout`, send the request again. An app never gets a second account.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/accounts/ensure-for-tracking`
   */
  ensureTrackingAccount(args?: Omit<EnsureTrackingAccountArgs, 'app_id'>, options?: CallOptions): Call<schemas.AdsAccount, EnsureTrackingAccountCodes>;

  /**
   * Read whether a campaign can be launched now, and what prevents it.
   *
   * The payment provider and the landing page are checked on each request, the ad platform at most once a minute. `X-Data-As-Of` says when the advertising account was read, if not during this request. `X-Partial-Result` names what could not be read.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/launch-readiness`
   */
  getLaunchReadiness(args?: Record<string, never>, options?: CallOptions): Call<schemas.LaunchReadiness, GetLaunchReadinessCodes>;

  /**
   * Read the smallest and the largest daily budget that a campaign can have.
   *
   * No advertising account is needed. The ad platform may require a higher minimum.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns/budget-boundaries`
   */
  getBudgetBoundaries(args: Omit<GetBudgetBoundariesArgs, 'app_id'>, options?: CallOptions): Call<schemas.BudgetBoundaries, GetBudgetBoundariesCodes>;

  /**
   * List the conversion actions of an app's advertising account, newest first.
   *
   * The ad platform publishes the id and the label of an action a few seconds after it was created.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/conversion-actions`
   */
  listConversionActions(args?: Omit<ListConversionActionsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListConversionActionsResult, ListConversionActionsCodes, schemas.ListConversionActionsResult['items'][number]>;

  /**
   * List the conversion mappings of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/conversion-mappings`
   */
  listConversionMappings(args?: Omit<ListConversionMappingsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListConversionMappingsResult, ListConversionMappingsCodes, schemas.ListConversionMappingsResult['items'][number]>;

  /**
   * Create a conversion mapping: a change to records that counts as a conversion.
   *
   * The app itself must report conversions. To install the calls, use `buildBootstrapPrompt`.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/conversion-mappings`
   */
  createConversionMapping(args: Omit<CreateConversionMappingArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConversionMapping, CreateConversionMappingCodes>;

  /**
   * Change a conversion mapping; fields that are not sent, or null, keep their value.
   *
   * An empty string clears `conversion_action_id`, `value_field` or `currency_field`.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/ads-platform/conversion-mappings/{mapping_id}`
   */
  updateConversionMapping(args: Omit<UpdateConversionMappingArgs, 'app_id'>, options?: CallOptions): Call<schemas.ConversionMapping, UpdateConversionMappingCodes>;

  /**
   * Delete a conversion mapping; calls in the app stay until you remove them.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/ads-platform/conversion-mappings/{mapping_id}`
   */
  deleteConversionMapping(args: Omit<DeleteConversionMappingArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteConversionMappingCodes>;

  /**
   * Read the base tag for an app's pages, with the id of its account.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/tracking-script`
   */
  getTrackingScript(args?: Record<string, never>, options?: CallOptions): Call<schemas.TrackingScript, GetTrackingScriptCodes>;

  /**
   * Find what an app's files lack for conversion tracking.
   *
   * The scan reads the published files, or the current ones if the app is not published. It changes nothing. `X-Partial-Result: gaps` means that some files could not be read; `X-Warning` names them.
   *
   * Effect: read. `POST /api/apps/{app_id}/ads-platform/tracking-scan`
   */
  scanTracking(args?: Record<string, never>, options?: CallOptions): Call<schemas.TrackingScan, ScanTrackingCodes>;

  /**
   * Create the conversion goals that are missing, and write the instruction that installs tracking.
   *
   * Goals can't be removed with this API. Send `composer_prompt` with `sendChatMessage`. With `wire_events` and enabled mappings, the request reads their tags up to five times, a second apart.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/tracking-scan/build-bootstrap-prompt`
   */
  buildBootstrapPrompt(args?: Omit<BuildBootstrapPromptArgs, 'app_id'>, options?: CallOptions): Call<schemas.BootstrapPrompt, BuildBootstrapPromptCodes>;

  /**
   * Verify in a browser that the published app tracks conversions, and enable the campaigns that wait for this.
   *
   * Plinth does the same after an app was published, and every 15 minutes while a campaign waits. `X-Partial-Result: enabled_campaign_ids` means that some campaigns are not confirmed yet. `X-Partial-Result: checks` means that a check was inconclusive, for example because the browser did not start or the app changed during the check. The last result is then kept.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/tracking-verify`
   */
  verifyTracking(args?: Record<string, never>, options?: CallOptions): Call<schemas.TrackingVerification, VerifyTrackingCodes>;

  /**
   * Suggest search themes for a Performance Max campaign; nothing is saved.
   *
   * The themes are in the language of `Accept-Language`, or in English. If the language model is unavailable, the list is empty, with `X-Partial-Result: search_themes`. The request costs 0.1 credits, or nothing if the list is empty.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/suggestions/search-themes`
   */
  suggestSearchThemes(args?: Omit<SuggestSearchThemesArgs, 'app_id'>, options?: CallOptions): Call<schemas.SearchThemes, SuggestSearchThemesCodes>;

  /**
   * Generate the texts and images of ads for an app.
   *
   * The request waits for at most 30 seconds. Images that are not ready by then are counted in `background_image_count`; the `session` list of listAssets contains all images once the last one is ready. The request costs 2 credits, and 0.5 for each image.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/assets/generate`
   */
  generateAssets(args: Omit<GenerateAssetsArgs, 'app_id'>, options?: CallOptions): Call<schemas.GeneratedAssets, GenerateAssetsCodes>;

  /**
   * List the texts and images that were generated for an app or by one generation, and those of a campaign.
   *
   * With `session_id`, the response has the list `session`, which is empty while the generation is running and from 24 hours after it began. Without `session_id`, it has the list `library` of the 5,000 most recent assets, newest first, with `X-Truncated: true` if there are more. With `campaign_id`, it also has the list `durable` of the campaign's current assets at the ad platform, the headers `RateLimit` and `RateLimit-Policy`, and a limit of 60 requests per minute. If the caller can't see the app, the status is 403.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/assets`
   */
  listAssets(args?: Omit<ListAssetsArgs, 'app_id'>, options?: CallOptions): Call<schemas.AssetLists, ListAssetsCodes>;

  /**
   * Add a generated text or image to a Performance Max campaign.
   *
   * Returns 200 once the ad platform has the asset. After 409 `ad_platform_timeout`, Plinth keeps trying until the platform answers. No asset is added twice.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/assets/{session_asset_id}/accept`
   */
  acceptAsset(args: Omit<AcceptAssetArgs, 'app_id'>, options?: CallOptions): Call<schemas.LibraryAsset, AcceptAssetCodes>;

  /**
   * Pause all campaigns of an app at once.
   *
   * The request waits for at most 45 seconds. A campaign whose pause is not confirmed by then is listed in `failed`, and Plinth keeps trying until the ad platform confirms it.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/campaigns/pause-all`
   */
  pauseAllCampaigns(args?: Record<string, never>, options?: CallOptions): Call<schemas.PausedCampaigns, PauseAllCampaignsCodes>;

  /**
   * Change one field of a campaign.
   *
   * A value must follow the rules of launchCampaign. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform answers.
   *
   * Effect: spend. `PATCH /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}`
   */
  updateCampaign(args: Omit<UpdateCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.Campaign, UpdateCampaignCodes>;

  /**
   * Delete a campaign forever; it stays in the list with its cost.
   *
   * To stop a campaign temporarily, pause it instead. While the launch of the campaign is not confirmed, the deletion is recorded and carried out after the launch. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform confirms the deletion.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}`
   */
  deleteCampaign(args: Omit<DeleteCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.DeletedCampaign, DeleteCampaignCodes>;

  /**
   * Read a campaign with its current statuses.
   *
   * If the ad platform does not answer within 5 seconds, the last known statuses are returned with `X-Partial-Result: live_status`, and with their time in `X-Data-As-Of`.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}`
   */
  getCampaign(args: Omit<GetCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.Campaign, GetCampaignCodes>;

  /**
   * Pause a campaign; it spends nothing until it is resumed.
   *
   * The request can be repeated. While the launch of the campaign is not confirmed, the pause is recorded and carried out after the launch, which then does not enable the campaign. After 409 `ad_platform_timeout`, Plinth keeps trying until the ad platform confirms the pause.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}/pause`
   */
  pauseCampaign(args: Omit<PauseCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.PausedCampaign, PauseCampaignCodes>;

  /**
   * Resume a campaign; it can spend from then on.
   *
   * Returns 200 only if the ad platform has confirmed that the campaign is enabled. After 409 `ad_platform_timeout`, Plinth keeps trying for at most 15 minutes, unless the campaign is paused in that time.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}/resume`
   */
  resumeCampaign(args: Omit<ResumeCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.ResumedCampaign, ResumeCampaignCodes>;

  /**
   * Search the locations that ads can be shown in, best match first.
   *
   * Case and accents make no difference. A query of one or two characters finds only names that begin with it; an empty query returns the locations with the largest reach. No advertising account is needed.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/geo-targets/search`
   */
  searchGeoTargets(args?: Omit<SearchGeoTargetsArgs, 'app_id'>, options?: CallOptions): Call<schemas.SearchGeoTargetsResult, SearchGeoTargetsCodes>;

  /**
   * List an app's campaigns with their metrics, newest first.
   *
   * The list includes deleted campaigns and, with the reason `SERVICE_LAUNCH_UNCONFIRMED`, those whose launch is not confirmed. `X-Data-As-Of` says when the oldest status was read. If the ad platform does not answer, the last known metrics are returned with `X-Partial-Result: metrics`.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns`
   */
  listCampaigns(args?: Omit<ListCampaignsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListCampaignsResult, ListCampaignsCodes, schemas.ListCampaignsResult['items'][number]>;

  /**
   * Create a campaign in the app's advertising account; this starts spending.
   *
   * Works like launchCampaign, for an app that already has an advertising account.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/campaigns`
   */
  createCampaign(args: Omit<CreateCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.Campaign, CreateCampaignCodes>;

  /**
   * Compare all campaigns with the ad platform, and add those that are not listed yet.
   *
   * Only Smart and Performance Max campaigns are added. If the ad platform has more campaigns than Plinth reads, the rest are missing and the response has `X-Truncated: true`.
   *
   * Effect: change. `POST /api/apps/{app_id}/ads-platform/campaigns/sync`
   */
  syncCampaigns(args?: Record<string, never>, options?: CallOptions): Call<schemas.CampaignSync, SyncCampaignsCodes>;

  /**
   * Read the requests to the ad platform for a campaign, with their outcomes.
   *
   * Returns the last 1,000 steps, with `X-Truncated: true` if there are more. For a campaign that was found at the ad platform, `launch_id` is null.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/campaigns/{campaign_id}/journal`
   */
  getCampaignJournal(args: Omit<GetCampaignJournalArgs, 'app_id'>, options?: CallOptions): Call<schemas.LaunchJournal, GetCampaignJournalCodes>;

  /**
   * List what people searched for when they saw an app's ads.
   *
   * Returns at most 100 rows, most impressions first. `X-Date-Range` contains the days that the report covers, in the account's time zone. `X-Partial-Result` names the kinds of campaigns that could not be read: `search`, `performance_max` or `smart`. Without an advertising account, the list is empty.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/analytics/search-terms`
   */
  getSearchTerms(args?: Omit<GetSearchTermsArgs, 'app_id'>, options?: CallOptions): Call<schemas.GetSearchTermsResult, GetSearchTermsCodes>;

  /**
   * Launch a campaign, and create the app's advertising account if it has none; this starts spending.
   *
   * The campaign is created paused. It is enabled once it is in the campaign list, if conversion tracking is verified and `start_paused` is not set. After 409 `ad_platform_timeout`, the campaign may be live and spending: don't send the request again, but call listCampaigns or getLaunch. The same draft never creates a second campaign.
   *
   * Effect: spend. `POST /api/apps/{app_id}/ads-platform/launch`
   */
  launchCampaign(args: Omit<LaunchCampaignArgs, 'app_id'>, options?: CallOptions): Call<schemas.LaunchedCampaign, LaunchCampaignCodes>;

  /**
   * Read a launch: its state, each request to the ad platform with its outcome, and what to do next.
   *
   * Effect: read. `GET /api/apps/{app_id}/ads-platform/launches/{launch_id}`
   */
  getLaunch(args: Omit<GetLaunchArgs, 'app_id'>, options?: CallOptions): Call<schemas.LaunchJournal, GetLaunchCodes>;

  /**
   * List the webhooks of an app, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks`
   */
  listAppWebhooks(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListAppWebhooksResult, ListAppWebhooksCodes>;

  /**
   * Create a webhook on an app, to be told when a record changes.
   *
   * Deliveries are signed unless `generate_secret` is false. The response contains the `secret`, which is never shown again. Nothing is sent for a webhook with `mode: "pull"`: its deliveries wait until a program has read and acknowledged them.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks`
   */
  createAppWebhook(args: Omit<CreateAppWebhookArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppWebhook, CreateAppWebhookCodes>;

  /**
   * Read one webhook of an app.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}`
   */
  getAppWebhook(args: Omit<GetAppWebhookArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppWebhook, GetAppWebhookCodes>;

  /**
   * Change a webhook of an app; fields that are not sent keep their value.
   *
   * `enabled: true` turns the webhook on, resets `consecutive_failures` and sends held deliveries. The header `X-Webhook-Held` is the number of held deliveries that are sent, `X-Webhook-Missed` the number of missed ones; a replay sends those. `signing: rotate` creates a new secret, shown once in `secret`; the previous one still signs for 24 hours. Either the whole body is applied or nothing.
   *
   * Effect: change. `PATCH /api/apps/{app_id}/webhooks/{webhook_id}`
   */
  updateAppWebhook(args: Omit<UpdateAppWebhookArgs, 'app_id'>, options?: CallOptions): Call<schemas.AppWebhook, UpdateAppWebhookCodes>;

  /**
   * Delete a webhook of an app and its delivery log; deliveries stop at once.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/webhooks/{webhook_id}`
   */
  deleteAppWebhook(args: Omit<DeleteAppWebhookArgs, 'app_id'>, options?: CallOptions): Call<schemas.Success, DeleteAppWebhookCodes>;

  /**
   * Test a webhook of an app: send a sample event now and return the response.
   *
   * The test works while the webhook is off, uses no sequence number, and does not change the webhook.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/test`
   */
  testAppWebhook(args: Omit<TestAppWebhookArgs, 'app_id'>, options?: CallOptions): Call<schemas.WebhookTest, TestAppWebhookCodes>;

  /**
   * List or find deliveries of a webhook of an app, by status, event and time.
   *
   * To find those that failed, send `status=failed`. Deliveries are ordered by sequence number, newest first, or oldest first if `after_seq` is sent, and are kept for 30 days.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}/deliveries`
   */
  listAppDeliveries(args: Omit<ListAppDeliveriesArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListAppDeliveriesResult, ListAppDeliveriesCodes, schemas.ListAppDeliveriesResult['items'][number]>;

  /**
   * Follow the deliveries of a webhook of an app as a stream of events, with what is signed.
   *
   * Begins after `after_seq`, or after `Last-Event-ID`. Without both it begins with the oldest delivery that is not acknowledged, if the webhook is a pull webhook, and otherwise with the next one. Ends after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/stream`
   */
  streamAppDeliveries(args: Omit<StreamAppDeliveriesArgs, 'app_id'>, options?: CallOptions): StreamedCall<never, StreamAppDeliveriesCodes, StreamAppDeliveriesEvent>;

  /**
   * Acknowledge the deliveries of a pull webhook of an app up to a number.
   *
   * They become `delivered`. Repeats have no further effect. A call acknowledges at most 100,000 deliveries, the oldest ones; repeat it until `acknowledged` is 0.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/ack`
   */
  ackAppDeliveries(args: Omit<AckAppDeliveriesArgs, 'app_id'>, options?: CallOptions): Call<schemas.DeliveriesAcknowledged, AckAppDeliveriesCodes>;

  /**
   * Read one delivery of a webhook of an app, with its payload and its attempts.
   *
   * Effect: read. `GET /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/{delivery_id}`
   */
  getAppDelivery(args: Omit<GetAppDeliveryArgs, 'app_id'>, options?: CallOptions): Call<schemas.WebhookDeliveryInFull, GetAppDeliveryCodes>;

  /**
   * Send one delivery of a webhook of an app again immediately, outside its schedule.
   *
   * The delivery id, sequence number and body stay the same.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver`
   */
  redeliverAppDelivery(args: Omit<RedeliverAppDeliveryArgs, 'app_id'>, options?: CallOptions): Call<schemas.Redelivered, RedeliverAppDeliveryCodes>;

  /**
   * Send failed and missed deliveries of a webhook of an app again, in sequence order.
   *
   * At most ten deliveries are sent per second. Their ids, sequence numbers and bodies stay the same; each delivery starts a new retry schedule. `statuses` may also contain `delivered` and `expired`.
   *
   * Effect: change. `POST /api/apps/{app_id}/webhooks/{webhook_id}/replay`
   */
  replayAppWebhook(args: Omit<ReplayAppWebhookArgs, 'app_id'>, options?: CallOptions): Call<schemas.Replayed, ReplayAppWebhookCodes>;

  /**
   * List an app's workflows, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows`
   */
  listWorkflows(args?: Omit<ListWorkflowsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListWorkflowsResult, ListWorkflowsCodes, schemas.ListWorkflowsResult['items'][number]>;

  /**
   * Create a workflow, which becomes active immediately.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows`
   */
  createWorkflow(args: Omit<CreateWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Workflow, CreateWorkflowCodes>;

  /**
   * Check a definition and a trigger without saving them.
   *
   * If the definition is invalid, the response is 200 with `valid: false`.
   *
   * Effect: read. `POST /api/apps/{app_id}/workflows/validate-definition`
   */
  validateWorkflow(args: Omit<ValidateWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.WorkflowValidation, ValidateWorkflowCodes>;

  /**
   * Read a workflow with its definition.
   *
   * With `Accept: text/vnd.mermaid` the definition is returned as a flowchart.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}`
   */
  getWorkflow(args: Omit<GetWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Workflow, GetWorkflowCodes> & Formats<'text/vnd.mermaid'>;

  /**
   * Change a workflow; fields that are not sent keep their value.
   *
   * A changed definition creates a new version. Runs that have already started keep their version.
   *
   * Effect: change. `PUT /api/apps/{app_id}/workflows/{workflow_id}`
   */
  updateWorkflow(args: Omit<UpdateWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Workflow, UpdateWorkflowCodes>;

  /**
   * Archive a workflow; it can no longer be started, and runs that have started continue.
   *
   * Effect: remove. `DELETE /api/apps/{app_id}/workflows/{workflow_id}`
   */
  archiveWorkflow(args: Omit<ArchiveWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Workflow, ArchiveWorkflowCodes>;

  /**
   * List the versions of a workflow's definition, newest first.
   *
   * The newest 100 versions are kept, as are versions that unfinished runs use. A page ends early at 2 MiB.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}/versions`
   */
  listWorkflowVersions(args: Omit<ListWorkflowVersionsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListWorkflowVersionsResult, ListWorkflowVersionsCodes, schemas.ListWorkflowVersionsResult['items'][number]>;

  /**
   * Restore an archived workflow, which is then inactive.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/restore`
   */
  restoreWorkflow(args: Omit<RestoreWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.Workflow, RestoreWorkflowCodes>;

  /**
   * Turn a workflow on or off.
   *
   * If the workflow stays inactive, for example because its schedule has ended, `status_reason` says why.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/toggle-status`
   */
  toggleWorkflow(args: Omit<ToggleWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.WorkflowStatus, ToggleWorkflowCodes>;

  /**
   * Run a workflow now, with an input or with the input of an earlier run.
   *
   * Works with every trigger and status, unless the workflow is archived.
   *
   * Effect: spend. `POST /api/apps/{app_id}/workflows/{workflow_id}/run-now`
   */
  runWorkflow(args: Omit<RunWorkflowArgs, 'app_id'>, options?: CallOptions): Call<schemas.WorkflowRunStarted, RunWorkflowCodes>;

  /**
   * List the runs of an app's workflows, newest first.
   *
   * Runs are kept for 90 days after they end.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/runs`
   */
  listAppRuns(args?: Omit<ListAppRunsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListAppRunsResult, ListAppRunsCodes, schemas.ListAppRunsResult['items'][number]>;

  /**
   * List the runs of a workflow, newest first.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}/runs`
   */
  listWorkflowRuns(args: Omit<ListWorkflowRunsArgs, 'app_id'>, options?: CallOptions): PagedCall<schemas.ListWorkflowRunsResult, ListWorkflowRunsCodes, schemas.ListWorkflowRunsResult['items'][number]>;

  /**
   * Read a run with its steps.
   *
   * Includes the input and output of 100 steps: the last ones, or those from `values_from` on. `X-Partial-Result: step_values` means that others were left out. With `Accept: text/event-stream` the response follows the run; with `text/vnd.mermaid` it is a flowchart.
   *
   * Effect: read. `GET /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}`
   */
  getRun(args: Omit<GetRunArgs, 'app_id'>, options?: CallOptions): StreamedCall<schemas.WorkflowRun, GetRunCodes, GetRunEvent> & Formats<'text/vnd.mermaid'>;

  /**
   * Cancel a run; a wait ends immediately, a call after at most 30 seconds.
   *
   * A run that has already ended keeps its status, and the response has `X-Changed: false`.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}/cancel`
   */
  cancelRun(args: Omit<CancelRunArgs, 'app_id'>, options?: CallOptions): Call<schemas.WorkflowRunCancelled, CancelRunCodes>;

  /**
   * Explain why a run failed.
   *
   * The first call generates the explanation with the language model, free of charge, and stores it; later calls return the stored one. Both strings are empty if the model is unavailable. The headers are always sent, because they do not depend on the model.
   *
   * Effect: change. `POST /api/apps/{app_id}/workflows/{workflow_id}/runs/{run_id}/analyze`
   */
  analyzeRun(args: Omit<AnalyzeRunArgs, 'app_id'>, options?: CallOptions): Call<schemas.WorkflowRunExplanation, AnalyzeRunCodes>;

  /**
   * Remove an app from a folder without deleting the app.
   *
   * If the app is not in the folder, the call succeeds and changes nothing (`X-Changed: false`).
   *
   * Effect: remove. `DELETE /api/app-folders/{folder_id}/items/{app_id}`
   */
  removeFolderItem(args: Omit<RemoveFolderItemArgs, 'app_id'>, options?: CallOptions): Call<schemas.RemovedFolderItem, RemoveFolderItemCodes>;
}


/** The operations with a path parameter `agent_id`, which is bound. */
export interface AgentOperations {
  /**
   * Read one agent.
   *
   * Effect: read. `GET /api/agents/{agent_id}`
   */
  getAgent(args?: Record<string, never>, options?: CallOptions): Call<schemas.Agent, GetAgentCodes>;

  /**
   * Change an agent; fields that are not sent keep their value.
   *
   * To change fields that all apps have (slug, visibility, owner and so on), use `updateApp`.
   *
   * Effect: change. `PATCH /api/agents/{agent_id}`
   */
  updateAgent(args?: Omit<UpdateAgentArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Agent, UpdateAgentCodes>;

  /**
   * Move an agent to the trash; it can be restored for 30 days.
   *
   * The agent's campaigns are paused first, and stay paused if the agent is restored. If the ad platform does not confirm the pause, the response is 409 `ad_platform_timeout`, and the agent is kept.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}`
   */
  deleteAgent(args?: Record<string, never>, options?: CallOptions): Call<schemas.Success, DeleteAgentCodes>;

  /**
   * Create the caller's conversation with an agent.
   *
   * Each person has at most one conversation with an agent. A repeated call returns it unchanged (`X-Changed: false`), with the metadata of the first call.
   *
   * Effect: change. `POST /api/agents/{agent_id}/conversations`
   */
  createConversation(args?: Omit<CreateConversationArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Conversation, CreateConversationCodes>;

  /**
   * List the caller's own conversations with an agent, without their messages.
   *
   * Effect: read. `GET /api/agents/{agent_id}/conversations`
   */
  listConversations(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListConversationsResult, ListConversationsCodes>;

  /**
   * Read the caller's own conversation with its newest messages, or those before a given one, oldest first.
   *
   * Effect: read. `GET /api/agents/{agent_id}/conversations/{conversation_id}`
   */
  getConversation(args: Omit<GetConversationArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Conversation, GetConversationCodes>;

  /**
   * Send a message or a question to an agent and get its answer.
   *
   * Responds when the reply is complete, after at most 5 minutes. With `Accept: text/event-stream` the reply is streamed. To resume after a lost connection, send the same request with `Last-Event-ID` or the same `Idempotency-Key`; no message is added twice.
   *
   * Effect: spend. `POST /api/agents/{agent_id}/conversations/{conversation_id}/messages`
   */
  sendAgentMessage(args: Omit<SendAgentMessageArgs, 'agent_id'>, options?: CallOptions): StreamedCall<schemas.AgentMessage, SendAgentMessageCodes, SendAgentMessageEvent>;

  /**
   * Delete a message of the caller's own conversation.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}/conversations/{conversation_id}/messages/{message_id}`
   */
  deleteAgentMessage(args: Omit<DeleteAgentMessageArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Success, DeleteAgentMessageCodes>;

  /**
   * List an agent's memories about the caller and its global memories.
   *
   * Effect: read. `GET /api/agents/{agent_id}/memory`
   */
  listMemories(args?: Omit<ListMemoriesArgs, 'agent_id'>, options?: CallOptions): PagedCall<schemas.ListMemoriesResult, ListMemoriesCodes, schemas.ListMemoriesResult['items'][number]>;

  /**
   * Delete a memory about the caller.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}/memory/{memory_id}`
   */
  deleteMemory(args: Omit<DeleteMemoryArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Success, DeleteMemoryCodes>;

  /**
   * List the webhooks of an agent, newest first.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks`
   */
  listAgentWebhooks(args?: Record<string, never>, options?: CallOptions): Call<schemas.ListAgentWebhooksResult, ListAgentWebhooksCodes>;

  /**
   * Create a webhook on an agent, to be told when a message is added or completed.
   *
   * Deliveries are signed unless `generate_secret` is false. The response contains the `secret`, which is never shown again. Nothing is sent for a webhook with `mode: "pull"`: its deliveries wait until a program has read and acknowledged them.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks`
   */
  createAgentWebhook(args: Omit<CreateAgentWebhookArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Webhook, CreateAgentWebhookCodes>;

  /**
   * Read one webhook of an agent.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}`
   */
  getAgentWebhook(args: Omit<GetAgentWebhookArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Webhook, GetAgentWebhookCodes>;

  /**
   * Change a webhook of an agent; fields that are not sent keep their value.
   *
   * `enabled: true` turns the webhook on, resets `consecutive_failures` and sends held deliveries. The header `X-Webhook-Held` is the number of held deliveries that are sent, `X-Webhook-Missed` the number of missed ones; a replay sends those. `signing: rotate` creates a new secret, shown once in `secret`; the previous one still signs for 24 hours. Either the whole body is applied or nothing.
   *
   * Effect: change. `PATCH /api/agents/{agent_id}/webhooks/{webhook_id}`
   */
  updateAgentWebhook(args: Omit<UpdateAgentWebhookArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Webhook, UpdateAgentWebhookCodes>;

  /**
   * Delete a webhook of an agent and its delivery log; deliveries stop at once.
   *
   * Effect: remove. `DELETE /api/agents/{agent_id}/webhooks/{webhook_id}`
   */
  deleteAgentWebhook(args: Omit<DeleteAgentWebhookArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Success, DeleteAgentWebhookCodes>;

  /**
   * Test a webhook of an agent: send a sample event now and return the response.
   *
   * The test works while the webhook is off, uses no sequence number, and does not change the webhook.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/test`
   */
  testAgentWebhook(args: Omit<TestAgentWebhookArgs, 'agent_id'>, options?: CallOptions): Call<schemas.WebhookTest, TestAgentWebhookCodes>;

  /**
   * List or find deliveries of a webhook of an agent, by status, event and time.
   *
   * To find those that failed, send `status=failed`. Deliveries are ordered by sequence number, newest first, or oldest first if `after_seq` is sent, and are kept for 30 days.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries`
   */
  listAgentDeliveries(args: Omit<ListAgentDeliveriesArgs, 'agent_id'>, options?: CallOptions): PagedCall<schemas.ListAgentDeliveriesResult, ListAgentDeliveriesCodes, schemas.ListAgentDeliveriesResult['items'][number]>;

  /**
   * Follow the deliveries of a webhook of an agent as a stream of events, with what is signed.
   *
   * Begins after `after_seq`, or after `Last-Event-ID`. Without both it begins with the oldest delivery that is not acknowledged, if the webhook is a pull webhook, and otherwise with the next one. Ends after 30 minutes; to continue, send the last `id` that you received.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/stream`
   */
  streamAgentDeliveries(args: Omit<StreamAgentDeliveriesArgs, 'agent_id'>, options?: CallOptions): StreamedCall<never, StreamAgentDeliveriesCodes, StreamAgentDeliveriesEvent>;

  /**
   * Acknowledge the deliveries of a pull webhook of an agent up to a number.
   *
   * They become `delivered`. Repeats have no further effect. A call acknowledges at most 100,000 deliveries, the oldest ones; repeat it until `acknowledged` is 0.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/ack`
   */
  ackAgentDeliveries(args: Omit<AckAgentDeliveriesArgs, 'agent_id'>, options?: CallOptions): Call<schemas.DeliveriesAcknowledged, AckAgentDeliveriesCodes>;

  /**
   * Read one delivery of a webhook of an agent, with its payload and its attempts.
   *
   * Effect: read. `GET /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/{delivery_id}`
   */
  getAgentDelivery(args: Omit<GetAgentDeliveryArgs, 'agent_id'>, options?: CallOptions): Call<schemas.WebhookDeliveryInFull, GetAgentDeliveryCodes>;

  /**
   * Send one delivery of a webhook of an agent again immediately, outside its schedule.
   *
   * The delivery id, sequence number and body stay the same.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver`
   */
  redeliverAgentDelivery(args: Omit<RedeliverAgentDeliveryArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Redelivered, RedeliverAgentDeliveryCodes>;

  /**
   * Send failed and missed deliveries of a webhook of an agent again, in sequence order.
   *
   * At most ten deliveries are sent per second. Their ids, sequence numbers and bodies stay the same; each delivery starts a new retry schedule. `statuses` may also contain `delivered` and `expired`.
   *
   * Effect: change. `POST /api/agents/{agent_id}/webhooks/{webhook_id}/replay`
   */
  replayAgentWebhook(args: Omit<ReplayAgentWebhookArgs, 'agent_id'>, options?: CallOptions): Call<schemas.Replayed, ReplayAgentWebhookCodes>;
}
