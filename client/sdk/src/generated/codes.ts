// Written by `npm run describe` from the OpenAPI document. Do not edit.

/** Every code that the server answers with, and the members that its problems may have. */
export interface ProblemCodes {
  account_billing_hold: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
  };
  account_not_in_good_standing: Record<never, never>;
  ad_platform_timeout: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
  };
  ad_platform_unavailable: Record<never, never>;
  ads_account_not_found: Record<never, never>;
  agent_not_found: Record<never, never>;
  already_initialised: Record<never, never>;
  already_launched: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
  };
  answer_not_stored: Record<never, never>;
  api_keys_retired: Record<never, never>;
  app_access_denied: Record<never, never>;
  app_busy: Record<never, never>;
  app_kind_mismatch: Record<never, never>;
  app_not_found: Record<never, never>;
  app_user_not_found: Record<never, never>;
  apps_domain_missing: Record<never, never>;
  asset_not_found: Record<never, never>;
  asset_processing: Record<never, never>;
  asset_unusable: Record<never, never>;
  automation_not_found: Record<never, never>;
  branch_not_allowed: Record<never, never>;
  browser_unavailable: Record<never, never>;
  budget_not_multiple: {
    /** The smallest amount of the currency, in micros. */
    step_micros?: number;
  };
  budget_out_of_range: {
    /** The smallest allowed daily budget, in micros. */
    min_daily_budget_micros?: number;
    /** The largest allowed daily budget, in micros. */
    max_daily_budget_micros?: number;
    /** The currency of the account. */
    currency_code?: string;
  };
  bulk_rejected: {
    /** The items that were refused, each with the reason. */
    errors?: ({
      /** The e-mail address of the member. */
      email?: string;
      /** The code that the operation for a single member would return. */
      error_code?: string;
      /** A message that says what is wrong. */
      message?: string;
    })[];
  };
  business_name_too_long: {
    /** The maximum number of characters; wide characters count twice. */
    limit?: number;
  };
  busy: Record<never, never>;
  campaign_not_found: Record<never, never>;
  campaign_not_on_platform: Record<never, never>;
  campaign_removed: Record<never, never>;
  campaign_type_not_available: Record<never, never>;
  connection_in_progress: Record<never, never>;
  connection_not_found: Record<never, never>;
  connection_of_other_user: Record<never, never>;
  connection_state_invalid: Record<never, never>;
  connector_not_configured: Record<never, never>;
  connector_not_found: Record<never, never>;
  connector_unavailable: Record<never, never>;
  console_not_built: Record<never, never>;
  conversation_busy: Record<never, never>;
  conversation_not_found: Record<never, never>;
  credential_kind_not_allowed: Record<never, never>;
  credentials_expired: Record<never, never>;
  credentials_invalid: Record<never, never>;
  credentials_missing: Record<never, never>;
  credit_limit_reached: Record<never, never>;
  credits_exhausted: Record<never, never>;
  currency_unsupported: {
    /** The currencies that can be used. */
    supported?: string[];
  };
  cursor_invalid: Record<never, never>;
  date_range_incomplete: Record<never, never>;
  date_range_reversed: Record<never, never>;
  delivery_in_progress: Record<never, never>;
  delivery_not_found: Record<never, never>;
  deployment_not_found: Record<never, never>;
  device_login_denied: Record<never, never>;
  device_login_expired: Record<never, never>;
  device_login_not_found: Record<never, never>;
  device_login_pending: Record<never, never>;
  entity_not_found: Record<never, never>;
  eu_declaration_required: Record<never, never>;
  execution_not_found: Record<never, never>;
  export_not_found: Record<never, never>;
  field_rule_denied: {
    /** The fields that caused the error. */
    fields?: string[];
  };
  file_not_found: Record<never, never>;
  flow_busy: Record<never, never>;
  flow_not_found: Record<never, never>;
  folder_cycle: Record<never, never>;
  folder_not_found: Record<never, never>;
  folder_too_deep: Record<never, never>;
  geo_target_unknown: {
    /** The targets that are unknown. */
    values?: string[];
  };
  git_host_unavailable: Record<never, never>;
  held_rule_not_found: Record<never, never>;
  held_rules_outdated: Record<never, never>;
  idempotency_conflict: Record<never, never>;
  idempotency_in_progress: Record<never, never>;
  input_request_changed: Record<never, never>;
  internal_error: Record<never, never>;
  invitation_email_mismatch: Record<never, never>;
  invitation_expired: Record<never, never>;
  invitation_not_found: Record<never, never>;
  invitation_pending: Record<never, never>;
  key_not_found: Record<never, never>;
  landing_page_invalid: Record<never, never>;
  last_operator: Record<never, never>;
  launch_in_progress: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
  };
  launch_not_found: Record<never, never>;
  limit_above_pool: Record<never, never>;
  limit_reached: {
    /** The maximum number allowed. */
    limit?: number;
    /** The resource that is limited. */
    resource?: string;
  };
  link_expired: Record<never, never>;
  locations_not_imported: Record<never, never>;
  logo_required: Record<never, never>;
  malformed_request: Record<never, never>;
  mapping_not_found: Record<never, never>;
  member_blocked: Record<never, never>;
  member_exists: Record<never, never>;
  member_not_found: Record<never, never>;
  memory_not_found: Record<never, never>;
  message_not_found: Record<never, never>;
  method_not_allowed: Record<never, never>;
  model_not_configured: Record<never, never>;
  model_unavailable: Record<never, never>;
  name_taken: Record<never, never>;
  not_an_agent: Record<never, never>;
  not_an_imported_app: Record<never, never>;
  not_session_owner: Record<never, never>;
  nothing_to_publish: Record<never, never>;
  operator_required: Record<never, never>;
  origin_not_allowed: Record<never, never>;
  owner_protected: Record<never, never>;
  payload_too_large: {
    /** The maximum number of bytes. */
    limit_bytes?: number;
  };
  payment_method_required: Record<never, never>;
  payment_provider_unavailable: Record<never, never>;
  plan_required: {
    /** The cheapest plan that includes the feature. */
    required_plan?: string;
  };
  platform_rejected: {
    /** The reasons that the ad platform gave. */
    platform_reasons?: ({
      /** The ad platform's code for the reason. */
      code?: string;
      /** A message that explains the reason. */
      message?: string;
      /** The smallest daily budget that the ad platform accepts. */
      minimum_daily_budget_micros?: number;
    })[];
    /** Whether the app now has an advertising account. */
    account_created?: boolean;
  };
  preview_not_found: Record<never, never>;
  queue_not_found: Record<never, never>;
  queue_row_not_found: Record<never, never>;
  queue_rows_not_changeable: {
    /** What to do instead. */
    instead?: string;
  };
  rate_limited: {
    /** The number of requests, or bytes, that the window allows. */
    limit?: number;
    /** The length of the window in seconds. */
    window_seconds?: number;
    /** The number of seconds to wait before you try again. */
    retry_after?: number;
  };
  read_only_credential_route_not_allowed: Record<never, never>;
  record_not_found: Record<never, never>;
  replay_payload_mismatch: Record<never, never>;
  reply_timeout: {
    /** The id of the conversation in which the reply will appear. */
    conversation_id?: string;
  };
  report_not_found: Record<never, never>;
  repository_mismatch: Record<never, never>;
  repository_not_connected: Record<never, never>;
  reset_link_expired: Record<never, never>;
  restore_opens_rules: {
    /** What the restored rules would let callers do that is refused now, as in `impact.newly_open`. */
    newly_open?: ({
      /** The name of the entity. */
      entity?: string;
      /** The operation of the rule. */
      operation?: string;
    })[];
  };
  revision_conflict: {
    /** The current revision. */
    revision?: number;
  };
  revision_not_found: Record<never, never>;
  role_not_assignable: Record<never, never>;
  role_required: {
    /** The lowest role that may do this. */
    required_role?: string;
  };
  route_not_found: Record<never, never>;
  rule_denied: Record<never, never>;
  rule_too_expensive: {
    /** The entity whose rule takes too many steps. */
    entity_name?: string;
    /** The operation of the rule. */
    operation?: string;
  };
  run_in_progress: Record<never, never>;
  run_not_failed: Record<never, never>;
  run_not_found: Record<never, never>;
  scan_not_available: Record<never, never>;
  schema_in_use: {
    /** The names of the entities that are in use. */
    entity_names?: string[];
  };
  secret_not_found: Record<never, never>;
  section_not_applicable: Record<never, never>;
  self_change_not_allowed: Record<never, never>;
  service_unavailable: Record<never, never>;
  session_busy: Record<never, never>;
  session_not_found: Record<never, never>;
  session_not_waiting: Record<never, never>;
  share_not_found: Record<never, never>;
  sign_in_failed: Record<never, never>;
  slug_taken: Record<never, never>;
  spending_ceiling_reached: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
    /** The ceiling that was reached: `app` or `workspace`. */
    ceiling?: string;
    /** The daily budget that is left, in micros of the currency. */
    remaining_daily_micros?: number;
    /** The currency of the ceiling. */
    currency_code?: string;
  };
  storage_quota_exceeded: {
    /** The storage quota of the workspace in bytes. */
    quota_bytes?: number;
    /** The number of bytes that the workspace stores now. */
    used_bytes?: number;
  };
  token_app_limited: Record<never, never>;
  token_not_found: Record<never, never>;
  token_wider_than_parent: Record<never, never>;
  too_many_streams: {
    /** The number of streams or downloads that may be open. */
    limit?: number;
    /** What has too many of them open: the credential or the workspace. */
    of?: string;
    /** The number of seconds to wait before you try again. */
    retry_after?: number;
  };
  tracking_not_verified: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
  };
  unique_conflict: {
    /** The fields that caused the error. */
    fields?: string[];
  };
  unsupported_media_type: Record<never, never>;
  upsert_key_ambiguous: Record<never, never>;
  user_not_found: Record<never, never>;
  validation: Record<never, never>;
  viewer_cannot_have_limit: Record<never, never>;
  webhook_is_pull: Record<never, never>;
  webhook_is_push: Record<never, never>;
  webhook_not_found: Record<never, never>;
  webhook_off: Record<never, never>;
  workflow_archived: Record<never, never>;
  workflow_inactive: Record<never, never>;
  workflow_not_found: Record<never, never>;
  workspace_billing_hold: {
    /** The state of the campaign; if `unknown`, it may be spending. */
    campaign_state?: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
    /** The id of the campaign, if there is one. */
    campaign_id?: string;
    /** The id of the launch, if there is one. */
    launch_id?: string;
  };
  workspace_key_not_allowed: Record<never, never>;
  workspace_key_scope_missing: {
    /** The scope that the key lacks. */
    scope?: string;
  };
  workspace_mismatch: Record<never, never>;
  workspace_not_found: Record<never, never>;
}

/** The notes of single operations, which they send as headers. */
export interface OperationNotes {
  /** The revision of the app whose files the archive contains. */
  appRevision?: number;
  /** The first and the last day that the report covers, joined by `/`; `empty` if it covers none. */
  dateRange?: string;
  /** The source of the explanation; `none` means that there is none. */
  explanationSource?: string;
  /** The kind of problem that ended the run. */
  failureClass?: string;
  /** The number of the step that failed, or of the last step if the platform ended the run; 0 if there is none. */
  failureStep?: number;
  /** How much of each group was scanned, such as `rls=ran, dependencies=skipped;reason=offline`. */
  scanCoverage?: string;
  /** The version of the scanner; results of other versions are not shown. */
  scannerVersion?: number;
  /** The version of the coding session, which grows with each change and each event. */
  sessionVersion?: number;
  /** The number of held deliveries that are now sent. */
  webhookHeld?: number;
  /** The number of deliveries that were missed while the webhook was off; only a replay sends them. */
  webhookMissed?: number;
  /** The number of webhooks that were turned off. */
  webhooksPaused?: number;
}

/** The codes that any operation may answer with. */
export type OfEveryOperation = 'malformed_request' | 'method_not_allowed';

export type BadRequest_07ee63 = 'limit_above_pool' | 'viewer_cannot_have_limit';
export type BadRequest_52f0bb = 'app_kind_mismatch' | 'cursor_invalid';
export type BadRequest_5657f2 = 'date_range_incomplete' | 'date_range_reversed';
export type BadRequest_89f937 = 'budget_not_multiple' | 'budget_out_of_range' | 'currency_unsupported' | 'eu_declaration_required' | 'geo_target_unknown' | 'landing_page_invalid' | 'platform_rejected' | 'section_not_applicable';
export type BadRequest_9d83d2 = 'branch_not_allowed' | 'not_an_imported_app';
export type BadRequest_app_kind_mismatch = 'app_kind_mismatch';
export type BadRequest_b538cc = 'cursor_invalid' | 'not_an_agent';
export type BadRequest_b98a1b = 'budget_not_multiple' | 'budget_out_of_range' | 'business_name_too_long' | 'campaign_type_not_available' | 'currency_unsupported' | 'eu_declaration_required' | 'geo_target_unknown' | 'landing_page_invalid' | 'logo_required' | 'platform_rejected';
export type BadRequest_bulk_rejected = 'bulk_rejected';
export type BadRequest_connection_state_invalid = 'connection_state_invalid';
export type BadRequest_currency_unsupported = 'currency_unsupported';
export type BadRequest_cursor_invalid = 'cursor_invalid';
export type BadRequest_e9f5ab = 'cursor_invalid' | 'not_an_imported_app';
export type BadRequest_limit_above_pool = 'limit_above_pool';
export type BadRequest_not_an_agent = 'not_an_agent';
export type BadRequest_not_an_imported_app = 'not_an_imported_app';
export type BadRequest_platform_rejected = 'platform_rejected';
export type BadRequest_role_not_assignable = 'role_not_assignable';
export type BadRequest_run_not_failed = 'run_not_failed';
export type BadRequest_workflow_archived = 'workflow_archived';
export type Conflict_0d1a99 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'scan_not_available';
export type Conflict_1546cb = 'limit_reached' | 'revision_conflict';
export type Conflict_1717e1 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'replay_payload_mismatch' | 'workflow_inactive';
export type Conflict_17896d = 'account_billing_hold' | 'ad_platform_timeout' | 'already_launched' | 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'launch_in_progress' | 'spending_ceiling_reached' | 'workspace_billing_hold';
export type Conflict_1b5634 = 'answer_not_stored' | 'folder_cycle' | 'folder_too_deep' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_1b73e3 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'rule_too_expensive' | 'unique_conflict';
export type Conflict_1c11f2 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'webhook_is_pull' | 'webhook_off';
export type Conflict_1db947 = 'ad_platform_timeout' | 'answer_not_stored' | 'campaign_removed' | 'idempotency_conflict' | 'idempotency_in_progress' | 'launch_in_progress' | 'spending_ceiling_reached';
export type Conflict_26f381 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'rule_too_expensive' | 'unique_conflict' | 'upsert_key_ambiguous';
export type Conflict_26fe1b = 'limit_reached' | 'name_taken';
export type Conflict_2a8403 = 'device_login_pending' | 'limit_reached';
export type Conflict_31cc95 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_reached' | 'name_taken';
export type Conflict_323e5c = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_reached';
export type Conflict_3e4582 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'invitation_pending' | 'member_exists';
export type Conflict_4294a7 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'session_busy';
export type Conflict_64700d = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'nothing_to_publish' | 'run_in_progress';
export type Conflict_666c31 = 'answer_not_stored' | 'apps_domain_missing' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_reached';
export type Conflict_76448d = 'answer_not_stored' | 'delivery_in_progress' | 'idempotency_conflict' | 'idempotency_in_progress' | 'webhook_is_pull' | 'webhook_off';
export type Conflict_80e8dc = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'rule_too_expensive';
export type Conflict_897a22 = 'ad_platform_timeout' | 'answer_not_stored' | 'asset_processing' | 'asset_unusable' | 'campaign_not_on_platform' | 'campaign_removed' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_8f1a6f = 'limit_reached' | 'restore_opens_rules' | 'revision_conflict';
export type Conflict_9189b6 = 'answer_not_stored' | 'folder_too_deep' | 'idempotency_conflict' | 'idempotency_in_progress' | 'limit_reached';
export type Conflict_9ebc93 = 'answer_not_stored' | 'flow_busy' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_a61b2f = 'answer_not_stored' | 'connection_in_progress' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_aafdb4 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'workflow_inactive';
export type Conflict_ad_platform_timeout = 'ad_platform_timeout';
export type Conflict_already_initialised = 'already_initialised';
export type Conflict_b8a350 = 'answer_not_stored' | 'conversation_busy' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_bdbbf9 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_c49351 = 'limit_reached' | 'schema_in_use';
export type Conflict_c82b10 = 'account_billing_hold' | 'ad_platform_timeout' | 'answer_not_stored' | 'campaign_removed' | 'idempotency_conflict' | 'idempotency_in_progress' | 'launch_in_progress' | 'spending_ceiling_reached' | 'tracking_not_verified' | 'workspace_billing_hold';
export type Conflict_d7636d = 'answer_not_stored' | 'app_busy' | 'idempotency_conflict' | 'idempotency_in_progress';
export type Conflict_d8b5f5 = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'webhook_is_pull';
export type Conflict_e27ca2 = 'answer_not_stored' | 'apps_domain_missing' | 'idempotency_conflict' | 'idempotency_in_progress' | 'nothing_to_publish' | 'revision_conflict';
export type Conflict_e876be = 'answer_not_stored' | 'idempotency_conflict' | 'idempotency_in_progress' | 'unique_conflict';
export type Conflict_e9bf79 = 'idempotency_conflict' | 'repository_mismatch' | 'session_busy';
export type Conflict_ecae15 = 'idempotency_conflict' | 'input_request_changed' | 'repository_mismatch' | 'session_busy' | 'session_not_waiting';
export type Conflict_fb8f9f = 'ad_platform_timeout' | 'campaign_removed';
export type Conflict_held_rules_outdated = 'held_rules_outdated';
export type Conflict_last_operator = 'last_operator';
export type Conflict_limit_reached = 'limit_reached';
export type Conflict_queue_rows_not_changeable = 'queue_rows_not_changeable';
export type Conflict_rule_too_expensive = 'rule_too_expensive';
export type Conflict_schema_in_use = 'schema_in_use';
export type Conflict_session_busy = 'session_busy';
export type Conflict_slug_taken = 'slug_taken';
export type Conflict_unique_conflict = 'unique_conflict';
export type Conflict_webhook_is_pull = 'webhook_is_pull';
export type Conflict_webhook_is_push = 'webhook_is_push';
export type Forbidden_0b559f = 'credential_kind_not_allowed' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_15dac2 = 'credential_kind_not_allowed' | 'workspace_key_scope_missing';
export type Forbidden_22d909 = 'credential_kind_not_allowed' | 'member_blocked' | 'not_session_owner' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'workspace_key_not_allowed';
export type Forbidden_309962 = 'credential_kind_not_allowed' | 'member_blocked' | 'workspace_key_scope_missing';
export type Forbidden_347ac8 = 'app_access_denied' | 'credential_kind_not_allowed' | 'member_blocked' | 'workspace_key_scope_missing';
export type Forbidden_3a6d4c = 'credential_kind_not_allowed' | 'member_blocked' | 'read_only_credential_route_not_allowed' | 'role_required' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_3d4556 = 'credential_kind_not_allowed' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'token_app_limited' | 'workspace_key_not_allowed';
export type Forbidden_3db4dc = 'credential_kind_not_allowed' | 'member_blocked' | 'read_only_credential_route_not_allowed' | 'role_required' | 'workspace_key_scope_missing' | 'workspace_mismatch';
export type Forbidden_470b0c = 'credential_kind_not_allowed' | 'operator_required' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_49ddff = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'owner_protected' | 'read_only_credential_route_not_allowed' | 'role_required' | 'self_change_not_allowed' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_4f82cd = 'credential_kind_not_allowed' | 'member_blocked' | 'role_required' | 'workspace_key_not_allowed';
export type Forbidden_4fb691 = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'workspace_key_not_allowed';
export type Forbidden_5b9b1b = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'token_app_limited' | 'token_wider_than_parent' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_5e0760 = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_66d5be = 'credential_kind_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_6acde3 = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_8c8095 = 'credential_kind_not_allowed' | 'member_blocked' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_90e4af = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_944228 = 'invitation_email_mismatch' | 'origin_not_allowed';
export type Forbidden_98b36e = 'credential_kind_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_9a4e2a = 'credential_kind_not_allowed' | 'member_blocked' | 'workspace_key_not_allowed';
export type Forbidden_a0b90e = 'app_access_denied' | 'credential_kind_not_allowed' | 'member_blocked' | 'workspace_key_not_allowed';
export type Forbidden_a9ace9 = 'member_blocked' | 'workspace_key_not_allowed';
export type Forbidden_adbbf0 = 'credential_kind_not_allowed' | 'member_blocked' | 'role_required' | 'workspace_key_scope_missing' | 'workspace_mismatch';
export type Forbidden_b790c8 = 'credential_kind_not_allowed' | 'member_blocked' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_bfb11e = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_c2ea80 = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'token_wider_than_parent' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_ca1e48 = 'field_rule_denied' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'rule_denied' | 'workspace_key_not_allowed';
export type Forbidden_cdc9b7 = 'credential_kind_not_allowed' | 'operator_required' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'token_app_limited' | 'workspace_key_not_allowed';
export type Forbidden_d0600c = 'credential_kind_not_allowed' | 'member_blocked' | 'read_only_credential_route_not_allowed' | 'role_required' | 'workspace_key_not_allowed';
export type Forbidden_d170b1 = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_d63f44 = 'credential_kind_not_allowed' | 'member_blocked' | 'read_only_credential_route_not_allowed' | 'role_required' | 'token_app_limited' | 'workspace_key_scope_missing' | 'workspace_mismatch';
export type Forbidden_d91d82 = 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'rule_denied' | 'workspace_key_not_allowed';
export type Forbidden_da2c9d = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_key_scope_missing' | 'workspace_mismatch';
export type Forbidden_dabfde = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'workspace_key_scope_missing';
export type Forbidden_db35a9 = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'role_required' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_dc2c07 = 'credential_kind_not_allowed' | 'member_blocked' | 'role_required' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_device_login_denied = 'device_login_denied';
export type Forbidden_e418fd = 'credential_kind_not_allowed' | 'member_blocked' | 'workspace_key_scope_missing' | 'workspace_mismatch';
export type Forbidden_e72178 = 'member_blocked' | 'origin_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_ea9657 = 'credential_kind_not_allowed' | 'operator_required' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_f7fb70 = 'credential_kind_not_allowed' | 'member_blocked' | 'role_required' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_f88e26 = 'connection_of_other_user' | 'credential_kind_not_allowed' | 'read_only_credential_route_not_allowed' | 'workspace_key_not_allowed';
export type Forbidden_ff7b3a = 'credential_kind_not_allowed' | 'member_blocked' | 'origin_not_allowed' | 'owner_protected' | 'read_only_credential_route_not_allowed' | 'role_required' | 'token_app_limited' | 'workspace_key_not_allowed' | 'workspace_mismatch';
export type Forbidden_origin_not_allowed = 'origin_not_allowed';
export type Gone_api_keys_retired = 'api_keys_retired';
export type Gone_device_login_expired = 'device_login_expired';
export type Gone_invitation_expired = 'invitation_expired';
export type Gone_link_expired = 'link_expired';
export type Gone_reset_link_expired = 'reset_link_expired';
export type InternalError = 'internal_error';
export type NotFound_0b34a1 = 'app_not_found' | 'asset_not_found' | 'campaign_not_found';
export type NotFound_12318c = 'agent_not_found' | 'app_not_found';
export type NotFound_1687f3 = 'app_not_found' | 'app_user_not_found' | 'entity_not_found' | 'member_not_found' | 'record_not_found';
export type NotFound_26cfe4 = 'export_not_found' | 'workspace_not_found';
export type NotFound_2d4718 = 'app_not_found' | 'revision_not_found';
export type NotFound_32bdac = 'app_not_found' | 'launch_not_found';
export type NotFound_38fa39 = 'app_not_found' | 'preview_not_found';
export type NotFound_3cbdbd = 'app_not_found' | 'deployment_not_found';
export type NotFound_48e8cb = 'app_not_found' | 'report_not_found';
export type NotFound_4d908f = 'app_not_found' | 'workspace_not_found';
export type NotFound_4f25f1 = 'app_not_found' | 'app_user_not_found' | 'revision_not_found';
export type NotFound_4f55e0 = 'agent_not_found' | 'app_not_found' | 'entity_not_found';
export type NotFound_59c9c2 = 'ads_account_not_found' | 'app_not_found' | 'campaign_not_found';
export type NotFound_61adcd = 'app_not_found' | 'entity_not_found';
export type NotFound_68c511 = 'app_not_found' | 'share_not_found';
export type NotFound_69c363 = 'agent_not_found' | 'conversation_not_found' | 'message_not_found';
export type NotFound_6ddc89 = 'app_not_found' | 'connection_not_found' | 'connector_not_found';
export type NotFound_70a161 = 'token_not_found' | 'workspace_not_found';
export type NotFound_725d1f = 'agent_not_found' | 'delivery_not_found' | 'webhook_not_found';
export type NotFound_74cc04 = 'app_not_found' | 'file_not_found' | 'revision_not_found';
export type NotFound_79a421 = 'app_not_found' | 'workflow_not_found';
export type NotFound_7eb69e = 'app_not_found' | 'repository_not_connected';
export type NotFound_91417f = 'app_not_found' | 'member_not_found';
export type NotFound_92f0a6 = 'app_not_found' | 'connector_not_found';
export type NotFound_96588b = 'app_not_found' | 'message_not_found' | 'session_not_found';
export type NotFound_9a6abf = 'app_not_found' | 'automation_not_found' | 'entity_not_found' | 'workflow_not_found';
export type NotFound_a52f52 = 'ads_account_not_found' | 'app_not_found';
export type NotFound_a93903 = 'member_not_found' | 'workspace_not_found';
export type NotFound_af5dc1 = 'agent_not_found' | 'memory_not_found';
export type NotFound_agent_not_found = 'agent_not_found';
export type NotFound_app_not_found = 'app_not_found';
export type NotFound_asset_not_found = 'asset_not_found';
export type NotFound_b0cdca = 'app_not_found' | 'entity_not_found' | 'record_not_found';
export type NotFound_b35b44 = 'app_not_found' | 'flow_not_found';
export type NotFound_b4f76a = 'app_not_found' | 'mapping_not_found';
export type NotFound_c09f3f = 'app_not_found' | 'automation_not_found';
export type NotFound_c3c2e4 = 'queue_not_found' | 'queue_row_not_found';
export type NotFound_c4e345 = 'agent_not_found' | 'app_not_found' | 'entity_not_found' | 'workflow_not_found';
export type NotFound_c849de = 'app_not_found' | 'app_user_not_found';
export type NotFound_c97df3 = 'app_not_found' | 'device_login_not_found' | 'workspace_not_found';
export type NotFound_campaign_not_found = 'campaign_not_found';
export type NotFound_cba940 = 'app_not_found' | 'secret_not_found';
export type NotFound_connection_not_found = 'connection_not_found';
export type NotFound_console_not_built = 'console_not_built';
export type NotFound_d20f54 = 'app_not_found' | 'session_not_found';
export type NotFound_d5634d = 'agent_not_found' | 'webhook_not_found';
export type NotFound_d73c7f = 'app_not_found' | 'campaign_not_found';
export type NotFound_d7db6e = 'app_not_found' | 'run_not_found' | 'workflow_not_found';
export type NotFound_dab1df = 'agent_not_found' | 'conversation_not_found';
export type NotFound_db4f41 = 'key_not_found' | 'workspace_not_found';
export type NotFound_device_login_not_found = 'device_login_not_found';
export type NotFound_e126eb = 'app_not_found' | 'webhook_not_found';
export type NotFound_e35c5e = 'app_not_found' | 'entity_not_found' | 'workflow_not_found';
export type NotFound_eb4b5d = 'app_not_found' | 'held_rule_not_found';
export type NotFound_edcc6f = 'app_not_found' | 'file_not_found';
export type NotFound_f311db = 'app_not_found' | 'repository_not_connected' | 'session_not_found';
export type NotFound_f4f450 = 'app_not_found' | 'delivery_not_found' | 'webhook_not_found';
export type NotFound_f663c4 = 'folder_not_found' | 'workspace_not_found';
export type NotFound_fde39e = 'app_not_found' | 'execution_not_found';
export type NotFound_folder_not_found = 'folder_not_found';
export type NotFound_invitation_not_found = 'invitation_not_found';
export type NotFound_key_not_found = 'key_not_found';
export type NotFound_queue_not_found = 'queue_not_found';
export type NotFound_report_not_found = 'report_not_found';
export type NotFound_route_not_found = 'route_not_found';
export type NotFound_session_not_found = 'session_not_found';
export type NotFound_user_not_found = 'user_not_found';
export type NotFound_workflow_not_found = 'workflow_not_found';
export type NotFound_workspace_not_found = 'workspace_not_found';
export type PayloadTooLarge = 'payload_too_large';
export type PaymentRequired_0a605d = 'plan_required' | 'storage_quota_exceeded';
export type PaymentRequired_4f893f = 'account_not_in_good_standing' | 'payment_method_required' | 'storage_quota_exceeded';
export type PaymentRequired_5c98cd = 'credit_limit_reached' | 'credits_exhausted' | 'plan_required' | 'storage_quota_exceeded';
export type PaymentRequired_edc693 = 'credit_limit_reached' | 'credits_exhausted' | 'storage_quota_exceeded';
export type PaymentRequired_fe0935 = 'account_not_in_good_standing' | 'payment_method_required';
export type PaymentRequired_plan_required = 'plan_required';
export type PaymentRequired_storage_quota_exceeded = 'storage_quota_exceeded';
export type RateLimited = 'rate_limited';
export type RateLimited_too_many_streams = 'rate_limited' | 'too_many_streams';
export type Timeout_reply_timeout = 'reply_timeout';
export type Unauthenticated = 'credentials_expired' | 'credentials_invalid' | 'credentials_missing';
export type Unauthenticated_c0c722 = 'credentials_invalid';
export type Unauthenticated_cc8a6a = 'sign_in_failed';
export type Unauthenticated_sign_in_failed = 'credentials_expired' | 'credentials_invalid' | 'credentials_missing' | 'sign_in_failed';
export type Unavailable = 'busy' | 'service_unavailable';
export type Unavailable_0153a4 = 'browser_unavailable' | 'busy' | 'model_unavailable' | 'service_unavailable';
export type Unavailable_0da988 = 'busy' | 'model_not_configured' | 'model_unavailable' | 'service_unavailable';
export type Unavailable_0fd1b3 = 'busy' | 'connector_not_configured' | 'connector_unavailable' | 'service_unavailable';
export type Unavailable_1e66d4 = 'busy' | 'git_host_unavailable' | 'model_unavailable' | 'service_unavailable';
export type Unavailable_ad_platform_unavailable = 'ad_platform_unavailable' | 'busy' | 'service_unavailable';
export type Unavailable_b0f29c = 'ad_platform_unavailable' | 'busy' | 'payment_provider_unavailable' | 'service_unavailable';
export type Unavailable_browser_unavailable = 'browser_unavailable' | 'busy' | 'service_unavailable';
export type Unavailable_cffa03 = 'ad_platform_unavailable' | 'busy' | 'locations_not_imported' | 'model_not_configured' | 'model_unavailable' | 'payment_provider_unavailable' | 'service_unavailable';
export type Unavailable_connector_not_configured = 'busy' | 'connector_not_configured' | 'service_unavailable';
export type Unavailable_fe00fc = 'ad_platform_unavailable' | 'busy' | 'locations_not_imported' | 'service_unavailable';
export type Unavailable_git_host_unavailable = 'busy' | 'git_host_unavailable' | 'service_unavailable';
export type Unavailable_model_unavailable = 'busy' | 'model_unavailable' | 'service_unavailable';
export type Unavailable_payment_provider_unavailable = 'busy' | 'payment_provider_unavailable' | 'service_unavailable';
export type UnsupportedMediaType = 'unsupported_media_type';
