-- module: agents
call count_stored('agent_conversations', 'conversations', '350 + octet_length(metadata::text)', 'metadata');
call count_stored('agent_messages', 'conversations',
  '300 + octet_length(content) + octet_length(tool_calls::text) + octet_length(file_urls::text)', 'content, tool_calls');
call count_stored('agent_memories', 'conversations', '350 + octet_length(content)');
call count_stored('agent_turns', 'conversations', '900');
call count_stored('chat_messages', 'conversations',
  '400 + octet_length(content) + octet_length(tool_calls::text) + octet_length(file_urls::text)', 'content, tool_calls');
call count_stored('chat_turns', 'conversations', '1100');
call count_stored('chat_steps', 'conversations', '150 + coalesce(octet_length(record::text), 0)', 'record');
