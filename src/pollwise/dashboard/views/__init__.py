"""What people look at: pages made on the server; a module for each view."""
