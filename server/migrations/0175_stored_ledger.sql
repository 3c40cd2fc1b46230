-- module: credits
call count_stored('credit_ledger', 'ledger', '600');
call count_stored('credit_reservations', 'ledger', '450');
