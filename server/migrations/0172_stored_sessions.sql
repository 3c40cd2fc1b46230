-- module: coding-sessions
call count_stored('coding_sessions', 'sessions',
  '1800 + octet_length(prompt) + octet_length(title) + coalesce(octet_length(pull_request_body), 0)
    + coalesce(octet_length(commit_message), 0) + coalesce(octet_length(summary), 0) + coalesce(octet_length(error_message), 0)
    + coalesce(octet_length(input_request::text), 0) + octet_length(tried_commits::text) + octet_length(run_files::text)',
  'summary, error_message, input_request, tried_commits, run_files');
call count_stored('coding_messages', 'sessions',
  '600 + coalesce(octet_length(text), 0) + coalesce(octet_length(answers::text), 0)');
call count_stored('coding_steps', 'sessions', '250 + coalesce(octet_length(record::text), 0)', 'record');
call count_stored('coding_events', 'sessions', '250 + octet_length(data::text)');
