"""What feedbell costs, measured beside a bare client and beside other readers."""
